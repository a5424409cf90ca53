// SPDX-License-Identifier: Apache-2.0
//! `anybinder`: starts, stops and inspects a mounted Binder file system, and measures it.
#![warn(clippy::print_stderr, clippy::print_stdout)]
mod command;

use anybinder_cli::error::{Error, Kind, Result, KINDS};
use anybinder_cli::output;
use anybinder_cli::time_limit::{self, Terms};
use anybinder_mount::context::Context;
use anybinder_mount::instance;
use anybinder_mount::mount::Mount;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use command::{Command, Limit, Place};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const STATUS_ADVICE: &str = "What it asks does not answer.";
const TIMEOUT_ADVICE: &str = "A daemon or a service may not answer: see `anybinder status`.";

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

    /// After how many seconds to give up; 0 for never. Not for run, servicemanager, export, link,
    /// bridge, fake and disturb, which last as long as what they start or serve
    /// [default: 60; up, down, upgrade, doctor: 180; demo, bench, watch, trace: 0]
    #[arg(long, global = true, value_name = "SECONDS", env = "ANYBINDER_TIMEOUT")]
    timeout: Option<u32>,

    /// Print JSON, on standard error too if the command fails
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// How the command runs; None for one that has no time limit.
    fn terms(&self) -> Option<Terms<'static>> {
        let (default_s, long) = match self.command.run_mode(self.json).limit {
            Limit::Seconds(default_s) => (default_s, false),
            Limit::Long => (0, true),
            Limit::None => return None,
        };
        let seconds = self.timeout.unwrap_or(default_s);
        Some(Terms {
            limit: (seconds > 0).then(|| Duration::from_secs(seconds.into())),
            advice: match self.command.is_status() {
                true => STATUS_ADVICE,
                false => TIMEOUT_ADVICE,
            },
            long,
        })
    }
}

/// The part of the help that is the same for every command.
fn exit_status_help() -> String {
    let rows = KINDS.map(|(_, status, _, text)| format!("\n  {status:>3}  {text}"));
    format!("Exit status:\n    0  done{}", rows.concat())
}

/// The commands that are not hidden, a line each, below the names of their groups.
fn commands_help() -> String {
    let line = |command: &clap::Command| {
        let about = command.get_about().unwrap_or_default();
        format!("  {:<15} {about}\n", command.get_name())
    };
    let group = |(name, commands): &(&str, clap::Command)| {
        let shown = commands.get_subcommands().filter(|one| !one.is_hide_set());
        format!("{name}:\n{}\n", shown.map(line).collect::<String>())
    };
    command::groups().iter().map(group).collect()
}

/// The command line as clap knows it, with the groups of commands and the table of exit statuses
/// in its help.
fn command_line() -> clap::Command {
    let help = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\
         `anybinder help COMMAND` says more of one.\n\n\
         Options:\n{{options}}{{after-help}}",
        commands_help()
    );
    Cli::command()
        .after_help(exit_status_help())
        .help_template(help)
}

/// Whether JSON is asked for on a command line that clap refuses: what follows `--` is not ours.
fn wants_json(arguments: &[OsString]) -> bool {
    let ours = arguments.iter().take_while(|word| *word != "--");
    ours.into_iter().any(|word| word == "--json")
}

/// The command line. A link to this program that has the name of one of Android's commands is that
/// command, and the whole program for its user: without a name of the program, usage lines begin
/// with that of the command.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let path = arguments.first().map(Path::new);
    let name = path.and_then(Path::file_name).map(OsString::from);
    let is_command = |name: &OsString| {
        name.to_str()
            .is_some_and(command::android::Command::has_subcommand)
    };
    if let Some(name) = name.filter(is_command) {
        drop(arguments.splice(..1, [OsString::new(), name]));
    }
    arguments
}

/// The error of a command line as it is without what the environment says, which the usage line
/// would show as if it were required.
fn without_environment(error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let bare = command_line().mut_args(|option| option.env(None::<&str>));
    let made_anew = bare.try_get_matches_from(arguments).err();
    let is_same = |other: &clap::Error| other.kind() == error.kind();
    made_anew.filter(is_same).unwrap_or(error)
}

fn from_matches(matches: &clap::ArgMatches) -> std::result::Result<Cli, clap::Error> {
    let mut cli = Cli::from_arg_matches(matches)?;
    // A limit in the environment is for the commands that have one.
    if matches.value_source("timeout") == Some(ValueSource::EnvVariable) && cli.terms().is_none() {
        cli.timeout = None;
    }
    Ok(cli)
}

fn parse() -> std::result::Result<Cli, ExitCode> {
    let arguments = arguments();
    let parsed = command_line()
        .try_get_matches_from(&arguments)
        .and_then(|matches| from_matches(&matches));
    parsed.map_err(|error| {
        if matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        ) {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        let error = without_environment(error, &arguments);
        if wants_json(&arguments) {
            let text = error.render().to_string();
            let what = text.strip_prefix("error: ").unwrap_or(&text).trim();
            return report(true, Err(Error::new(what).of(Kind::Usage)));
        }
        let _ = error.print();
        ExitCode::from(Kind::Usage.exit_status())
    })
}

/// The error of a time limit for a command that has none.
fn no_timeout() -> Error {
    Error::with_advice(
        "This command lasts as long as what it starts or serves, and takes no --timeout.",
        "Limit it with timeout(1): timeout 5 anybinder ...",
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
    let place = cli.command.run_mode(cli.json).place;
    let mount = match place {
        Place::New => Mount::new,
        Place::Any | Place::Joined => Mount::existing,
    };
    let context = Context {
        is_mount_named: cli.mount.is_some(),
        mount: mount(cli.mount, cli.state_dir)?,
        json: cli.json,
    };
    if matches!(place, Place::Joined) {
        instance::join(&context.mount)?;
    }
    cli.command.run(&context, command_line())
}

fn report(json: bool, outcome: Result<ExitCode>) -> ExitCode {
    output::exit("anybinder", json, outcome)
}

/// Linked statically, the C library would look up names of machines with the modules that
/// /etc/nsswitch.conf names, which belong to the library of the system.
#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
fn use_own_resolver() {
    use std::ffi::{c_char, c_int};
    extern "C" {
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }
    // SAFETY: both are strings, which the function copies, and no other thread runs yet.
    unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
}

fn main() -> ExitCode {
    #[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
    use_own_resolver();
    let cli = match parse() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    let json = cli.json;
    match cli.terms() {
        None if cli.timeout.is_some_and(|limit_s| limit_s > 0) => report(json, Err(no_timeout())),
        Some(terms) => report(
            json,
            time_limit::run(&terms, || report(json, dispatch(cli))),
        ),
        None => report(json, dispatch(cli)),
    }
}
