// SPDX-License-Identifier: Apache-2.0
//! Finds services, and calls them.
use super::{RunMode, LONG, SHORT};
use anybinder_cli::error::Result;
use anybinder_mount::context::Context;
use arguments::Arguments;
use std::process::ExitCode;

pub mod arguments;
pub mod call;
pub mod dump;
pub mod freeze;
pub mod interface;
pub mod interface_files;
pub mod list;
pub mod ping;
pub mod shell;
pub mod wait;

#[derive(clap::Subcommand)]
pub enum Command {
    /// List the registered services
    List(list::Arguments),
    /// Check that a service answers, and how fast
    Ping(ping::Arguments),
    /// Send a transaction to a service and print the reply
    Call(call::Arguments),
    /// Print what a service says of itself
    Dump(Arguments),
    /// Run a shell command of a service; the exit status is its result
    #[command(mut_arg("arguments", |arg| {
        arg.help("The command and its arguments, as the service knows them")
    }))]
    Shell(Arguments),
    /// Say whether a service is registered
    Check(wait::Arguments),
    /// Wait until a service is registered
    Wait(wait::Arguments),
    /// Show the interface of a service
    Interface(interface::Arguments),
    /// Let the driver refuse calls to a process, and keep one-way calls for it
    Freeze(freeze::Arguments),
    /// Let the driver pass on calls to a frozen process again
    Unfreeze(freeze::UnfreezeArguments),
}

impl Command {
    pub fn run_mode(&self) -> RunMode {
        match self {
            Command::Ping(arguments) => arguments.run_mode(),
            Command::Call(arguments) if arguments.listen.is_some() => LONG,
            _ => SHORT,
        }
    }

    pub fn run(&self, context: &Context) -> Result<ExitCode> {
        match self {
            Command::List(arguments) => list::run(context, arguments),
            Command::Ping(arguments) => ping::run(context, arguments),
            Command::Call(arguments) => call::run(context, arguments),
            Command::Dump(arguments) => dump::run(context, arguments),
            Command::Shell(arguments) => shell::run(context, arguments),
            Command::Check(arguments) => wait::check(context, arguments),
            Command::Wait(arguments) => wait::wait(context, arguments),
            Command::Interface(arguments) => interface::run(context, arguments),
            Command::Freeze(arguments) => freeze::freeze(context, arguments),
            Command::Unfreeze(arguments) => freeze::unfreeze(context, arguments),
        }
    }
}
