// SPDX-License-Identifier: Apache-2.0
//! `anybinder`: brings the userspace home of Binder up and down, and looks into it.
mod command;

use anybinder_bench as bench;
use anybinder_client::{addints, device};
use anybinder_mount::context::Context;
use anybinder_mount::instance::InstanceOptions;
use anybinder_mount::namespace;
use anybinder_mount::place::Place;
use anybinder_mount::trouble::Result;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Android Binder IPC on any Linux: the userspace home and what runs in it
#[derive(Parser)]
#[command(name = "anybinder", version, arg_required_else_help = true)]
struct Cli {
    /// Where the Binder file system is or shall be mounted
    /// [default: /dev/binderfs for root, $XDG_RUNTIME_DIR/anybinder for others]
    #[arg(long, global = true, value_name = "DIR", env = "ANYBINDER_MOUNT")]
    mount: Option<PathBuf>,

    /// Where this command keeps its notes
    /// [default: /run/anybinder for root, $XDG_RUNTIME_DIR/anybinder-state for others]
    #[arg(long, global = true, value_name = "DIR", env = "ANYBINDER_STATE_DIR")]
    state_dir: Option<PathBuf>,

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
    /// Tell what is up (exit status 3 if nothing is)
    Status,
    /// Run a program that finds this mount at /dev/binderfs and its devices at /dev/binder etc.
    Run(command::run::Arguments),
    /// Bring everything up in a temporary place, show it at work, and take it down
    Demo(command::demo::Arguments),
    /// Measure: Binder beside other IPC, and where a call's time goes
    #[command(subcommand)]
    Bench(bench::Command),
    /// List the registered services
    List(device::DeviceOption),
    /// Ask a service whether it is alive
    Ping(command::ping::Arguments),
    /// Send a transaction to a service and print the reply
    Call(command::call::Arguments),
    /// List the processes that have a device open
    Ps,
    /// Be the service manager of a device, in the foreground
    Servicemanager(command::servicemanager::Arguments),
    #[command(hide = true)]
    DemoService,
    #[command(hide = true)]
    DemoClient(command::demo_client::Arguments),
    #[command(hide = true)]
    AddintsClient(bench::addints_client::Arguments),
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    let context = Context {
        place: Place::new(cli.mount, cli.state_dir)?,
        json: cli.json,
    };
    // A command that does not bring up a home of its own looks at one from inside its namespaces.
    if !matches!(
        cli.command,
        Command::Up(_) | Command::Demo(_) | Command::Bench(_)
    ) {
        if let Some(note) = context.place.note() {
            namespace::join(&note)?;
        }
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
        Command::AddintsClient(arguments) => bench::addints_client::run(&context, &arguments),
    }
}

fn main() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(code) => code,
        Err(trouble) => {
            eprintln!("anybinder: {trouble}");
            ExitCode::FAILURE
        }
    }
}
