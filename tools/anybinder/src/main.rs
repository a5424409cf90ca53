// SPDX-License-Identifier: Apache-2.0
//! `anybinder`: starts, stops and inspects a mounted Binder file system, and measures it.
mod command;

use anybinder_bench as bench;
use anybinder_client::{addints, device};
use anybinder_mount::context::Context;
use anybinder_mount::error::Result;
use anybinder_mount::instance::{self, InstanceOptions};
use anybinder_mount::limit;
use anybinder_mount::mount::Mount;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const TIME_LIMIT_ADVICE: &str = "A daemon or a service may not answer: see `anybinder status`. \
     To wait longer, use --time-limit.";

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

    /// After how many seconds to give up; 0 for never. Applies to all commands but run, demo, bench
    /// and servicemanager [default: 60, for up and down 180]
    #[arg(
        long,
        global = true,
        value_name = "SECONDS",
        env = "ANYBINDER_TIME_LIMIT"
    )]
    time_limit: Option<u32>,

    /// Print JSON
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
    /// Show what is running (exit status 3 if nothing is)
    Status,
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
    /// List the processes that have a device open
    Ps,
    /// Run the service manager of a device in the foreground
    Servicemanager(command::servicemanager::Arguments),
    #[command(hide = true)]
    DemoService,
    #[command(hide = true)]
    DemoClient(command::demo_client::Arguments),
    #[command(hide = true)]
    AddintsClient(bench::addints::client::Arguments),
}

impl Cli {
    /// How long the command may take; None for one that takes as long as what it runs.
    fn limit(&self) -> Option<Duration> {
        let default_s = match self.command {
            Command::Up(_) | Command::Down => 180,
            Command::Status
            | Command::List(_)
            | Command::Ping(_)
            | Command::Call(_)
            | Command::Ps => 60,
            _ => return None,
        };
        let seconds = self.time_limit.unwrap_or(default_s);
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    let context = Context {
        mount: Mount::new(cli.mount, cli.state_dir)?,
        json: cli.json,
    };
    // A command that starts no daemon of its own runs inside the namespaces of the mount's daemon.
    if !matches!(
        cli.command,
        Command::Up(_) | Command::Demo(_) | Command::Bench(_)
    ) {
        instance::join(&context.mount)?;
    }
    match cli.command {
        Command::Up(arguments) => command::up::run(&context, &arguments),
        Command::Down => command::down::run(&context),
        Command::Status => command::status::run(&context),
        Command::Run(arguments) => command::run::run(&context, &arguments),
        Command::Demo(arguments) => command::demo::run(&context, &arguments),
        Command::Bench(command) => bench::run(&context, &command),
        Command::List(option) => command::list::run(&context, &option),
        Command::Ping(arguments) => command::ping::run(&context, &arguments),
        Command::Call(arguments) => command::call::run(&context, &arguments),
        Command::Ps => command::ps::run(&context),
        Command::Servicemanager(arguments) => command::servicemanager::run(&context, &arguments),
        Command::DemoService => addints::run(&context),
        Command::DemoClient(arguments) => command::demo_client::run(&context, &arguments),
        Command::AddintsClient(arguments) => bench::addints::client::run(&context, &arguments),
    }
}

fn report(outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("anybinder: {error}");
        ExitCode::FAILURE
    })
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.limit() {
        Some(limit) => report(limit::run(limit, TIME_LIMIT_ADVICE, || {
            report(dispatch(cli))
        })),
        None => report(dispatch(cli)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_option_is_an_error_that_names_the_new_one() {
        for (line, new) in [
            ("anybinder up --regime global", "--locking"),
            ("anybinder bench heap --linger-ms 5", "--keep-ms"),
        ] {
            let error = Cli::try_parse_from(line.split(' ')).err();
            let text = error.expect("an error").to_string();
            assert!(text.contains(&format!("now called {new}")), "{text}");
        }
    }
}
