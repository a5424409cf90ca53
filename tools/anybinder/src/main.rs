// SPDX-License-Identifier: Apache-2.0
//! `anybinder`: starts, stops and inspects a mounted Binder file system, and measures it.
mod command;

use anybinder_bench as bench;
use anybinder_client::{addints, device};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Kind, Result, KINDS};
use anybinder_mount::harmless::harmless_lines;
use anybinder_mount::instance::{self, InstanceOptions};
use anybinder_mount::interrupt;
use anybinder_mount::limit::{self, Terms};
use anybinder_mount::mount::Mount;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const TIMEOUT_ADVICE: &str = "A daemon or a service may not answer: see `anybinder status`. \
     To wait longer, use --timeout.";

/// Android Binder IPC on any Linux: the daemon, and tools for every Binder file system
#[derive(Parser)]
#[command(name = "anybinder", version, arg_required_else_help = true)]
struct Cli {
    /// The directory where the Binder file system is or will be mounted
    /// [default: /dev/binderfs for root, $XDG_RUNTIME_DIR/anybinder for others]
    #[arg(long, global = true, value_name = "DIR", env = "ANYBINDER_MOUNT")]
    mount: Option<PathBuf>,

    /// Where this command keeps its records and logs
    /// [default: /run/anybinder for root, $XDG_RUNTIME_DIR/anybinder-state for others]
    #[arg(long, global = true, value_name = "DIR", env = "ANYBINDER_STATE_DIR")]
    state_dir: Option<PathBuf>,

    /// After how many seconds to give up; 0 for never. Not for run, servicemanager, export and
    /// link, which last as long as what they start or serve
    /// [default: 60; up and down: 180; demo, bench, watch, trace: 0]
    #[arg(long, global = true, value_name = "SECONDS", env = "ANYBINDER_TIMEOUT")]
    timeout: Option<u32>,

    /// Print JSON, on standard error too if the command fails
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the daemon and a service manager
    Up(InstanceOptions),
    /// Stop the service manager and the daemon
    Down,
    /// Show what is running, and what to do about what is not
    Status,
    /// Say what this machine can do for Binder, and what to change
    Doctor,
    /// Run a program that finds this mount at /dev/binderfs and its devices at /dev/binder, ...
    Run(command::run::Arguments),
    /// Start everything in a temporary directory, show it at work, and stop it
    Demo(command::demo::Arguments),
    /// Measure: Binder beside other IPC, and where the time of a call goes
    #[command(subcommand)]
    Bench(bench::Command),
    /// List the registered services
    List(device::DeviceOption),
    /// Check that a service answers, and how fast
    Ping(command::ping::Arguments),
    /// Send a transaction to a service and print the reply
    Call(command::call::Arguments),
    /// Print what a service says of itself
    Dump(command::dump::Arguments),
    /// Run a shell command of a service; the exit status is its result
    Shell(command::shell::Arguments),
    /// Say whether a service is registered
    Check(command::wait::Arguments),
    /// Wait until a service is registered
    Wait(command::wait::Arguments),
    /// Print a line whenever a service appears, dies or is replaced
    Watch(command::watch::Arguments),
    /// Show the interface of a service
    Interface(command::interface::Arguments),
    /// Let the driver refuse calls to a process, and keep one-way calls for it
    Freeze(command::freeze::Arguments),
    /// End that
    Unfreeze(command::freeze::UnfreezeArguments),
    /// Show which process calls which, and who has handles of whose objects
    Graph(command::graph::Arguments),
    /// Show processes by calls, waiting calls, threads and buffers, again and again
    Top(command::top::Arguments),
    /// Write what a report of an error needs into one file, nothing private in it
    Report(command::report::Arguments),
    /// List the processes that have a device open
    Ps,
    /// Show the calls of all processes as they happen
    Trace(command::trace::Arguments),
    /// Print the arguments that give a container the devices
    Container(command::container::Arguments),
    /// Run the service manager of a device in the foreground
    Servicemanager(command::servicemanager::Arguments),
    /// Serve local services to other machines
    Export(command::export::Arguments),
    /// Register a service of another machine
    Link(command::link::Arguments),
    #[command(hide = true)]
    ManagerCheck(device::DeviceOption),
    #[command(hide = true)]
    Generate(command::generate::Arguments),
    #[command(hide = true)]
    DemoService,
    #[command(hide = true)]
    DemoClient(command::demo_client::Arguments),
    #[command(hide = true)]
    AddintsClient(bench::addints::client::Arguments),
}

impl Cli {
    /// How the command runs; None for one that becomes another program.
    fn terms(&self) -> Option<Terms<'static>> {
        let (default_s, long) = match &self.command {
            Command::Top(_) if self.json => (60, false),
            Command::Up(_) | Command::Down => (180, false),
            Command::Demo(_) | Command::Bench(_) | Command::Trace(_) | Command::Watch(_) => {
                (0, true)
            }
            Command::Status
            | Command::Doctor
            | Command::List(_)
            | Command::Ping(_)
            | Command::Call(_)
            | Command::Dump(_)
            | Command::Shell(_)
            | Command::Check(_)
            | Command::Wait(_)
            | Command::Interface(_)
            | Command::Freeze(_)
            | Command::Unfreeze(_)
            | Command::Graph(_)
            | Command::Report(_)
            | Command::Top(command::top::Arguments { once: true, .. })
            | Command::Ps
            | Command::Container(_)
            | Command::ManagerCheck(_) => (60, false),
            _ => return None,
        };
        let seconds = self.timeout.unwrap_or(default_s);
        Some(Terms {
            limit: (seconds > 0).then(|| Duration::from_secs(seconds.into())),
            advice: TIMEOUT_ADVICE,
            long,
        })
    }
}

/// The part of the help that is the same for every command.
fn exit_status_help() -> String {
    let rows = KINDS.map(|(_, status, _, text)| format!("\n  {status:>3}  {text}"));
    format!("Exit status:\n    0  done{}", rows.concat())
}

/// The command line as clap knows it, the table of exit statuses included.
fn command_line() -> clap::Command {
    Cli::command().after_help(exit_status_help())
}

/// Whether JSON is asked for on a command line that clap refuses: what follows `--` is not ours.
fn wants_json(arguments: &[OsString]) -> bool {
    let ours = arguments.iter().take_while(|word| *word != "--");
    ours.into_iter().any(|word| word == "--json")
}

fn parse() -> std::result::Result<Cli, ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let parsed = command_line()
        .try_get_matches_from(&arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ if wants_json(&arguments) => {
            let text = error.render().to_string();
            let what = text.strip_prefix("error: ").unwrap_or(&text).trim();
            report(true, Err(Error::new(what).of(Kind::Usage)))
        }
        _ => {
            let _ = error.print();
            ExitCode::from(Kind::Usage.exit_status())
        }
    })
}

/// The error of a time limit for a command that becomes another program.
fn no_timeout() -> Error {
    Error::with_advice(
        "This command lasts as long as the program that it starts, and takes no --timeout.",
        "Limit it with timeout(1): timeout 5 anybinder run -- CMD",
    )
    .of(Kind::Usage)
}

/// Fails, with advice, where the command could find neither mounts nor processes.
fn check_proc() -> Result<()> {
    if Path::new("/proc/self/mountinfo").exists() {
        return Ok(());
    }
    Err(Error::with_advice(
        "/proc is not mounted.",
        "Mount it: mount -t proc proc /proc",
    ))
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    check_proc()?;
    let mount = match cli.command {
        Command::Up(_) | Command::Demo(_) | Command::Bench(_) => Mount::new,
        _ => Mount::existing,
    };
    let context = Context {
        mount: mount(cli.mount, cli.state_dir)?,
        json: cli.json,
    };
    // A command that starts no daemon of its own runs inside the namespaces of the mount's daemon.
    if !matches!(
        cli.command,
        Command::Up(_)
            | Command::Demo(_)
            | Command::Bench(_)
            | Command::Doctor
            | Command::Container(_)
    ) {
        instance::join(&context.mount)?;
    }
    match cli.command {
        Command::Up(arguments) => command::up::run(&context, &arguments),
        Command::Down => command::down::run(&context),
        Command::Status => command::status::run(&context),
        Command::Doctor => command::doctor::run(&context),
        Command::Run(arguments) => command::run::run(&context, &arguments),
        Command::Demo(arguments) => command::demo::run(&context, &arguments),
        Command::Bench(command) => bench::run(&context, &command),
        Command::List(option) => command::list::run(&context, &option),
        Command::Ping(arguments) => command::ping::run(&context, &arguments),
        Command::Call(arguments) => command::call::run(&context, &arguments),
        Command::Dump(arguments) => command::dump::run(&context, &arguments),
        Command::Shell(arguments) => command::shell::run(&context, &arguments),
        Command::Check(arguments) => command::wait::check(&context, &arguments),
        Command::Wait(arguments) => command::wait::wait(&context, &arguments),
        Command::Watch(arguments) => command::watch::run(&context, &arguments),
        Command::Interface(arguments) => command::interface::run(&context, &arguments),
        Command::Freeze(arguments) => command::freeze::freeze(&context, &arguments),
        Command::Unfreeze(arguments) => command::freeze::unfreeze(&context, &arguments),
        Command::Graph(arguments) => command::graph::run(&context, &arguments),
        Command::Top(arguments) => command::top::run(&context, &arguments),
        Command::Report(arguments) => command::report::run(&context, &arguments),
        Command::Ps => command::ps::run(&context),
        Command::Trace(arguments) => command::trace::run(&context, &arguments),
        Command::Container(arguments) => command::container::run(&context, &arguments),
        Command::Servicemanager(arguments) => command::servicemanager::run(&context, &arguments),
        Command::Export(arguments) => command::export::run(&context, &arguments),
        Command::Link(arguments) => command::link::run(&context, &arguments),
        Command::ManagerCheck(option) => command::manager_check::run(&context, &option),
        Command::Generate(arguments) => command::generate::run(&mut command_line(), &arguments),
        Command::DemoService => addints::run(&context),
        Command::DemoClient(arguments) => command::demo_client::run(&context, &arguments),
        Command::AddintsClient(arguments) => bench::addints::client::run(&context, &arguments),
    }
}

fn report(json: bool, outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        let status = ExitCode::from(error.kind().exit_status());
        if interrupt::is_quiet() {
            return status;
        }
        let text = match json {
            true => format!("{:#}", error.to_json()),
            false => format!("anybinder: {error}"),
        };
        // The reader of standard error may be gone.
        let _ = writeln!(std::io::stderr(), "{}", harmless_lines(&text));
        status
    })
}

fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    let json = cli.json;
    match cli.terms() {
        None if cli.timeout.is_some_and(|limit_s| limit_s > 0) => report(json, Err(no_timeout())),
        Some(terms) => report(json, limit::run(&terms, || report(json, dispatch(cli)))),
        None => report(json, dispatch(cli)),
    }
}
