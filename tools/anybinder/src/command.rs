// SPDX-License-Identifier: Apache-2.0
//! The commands by their purpose: a group has a folder, and each of its commands a file there.
use anybinder_cli::error::Result;
use anybinder_mount::context::Context;
use clap::Subcommand;
use run_mode::{RunMode, AT_ONCE, ENDLESS};
use std::process::ExitCode;

pub mod android;
pub mod complete;
pub mod generate;
pub mod instance;
pub mod measuring;
pub mod network;
pub mod observing;
pub mod run_mode;
pub mod services;

#[derive(Subcommand)]
pub enum Command {
    #[command(flatten)]
    Instance(instance::Command),
    #[command(flatten)]
    Services(services::Command),
    #[command(flatten)]
    Observing(observing::Command),
    #[command(flatten)]
    Network(network::Command),
    #[command(flatten)]
    Measuring(measuring::Command),
    #[command(flatten)]
    Android(android::Command),
    #[command(hide = true)]
    Generate(generate::Arguments),
    #[command(hide = true)]
    Complete(complete::Arguments),
}

/// The groups, with the commands of each.
pub fn groups() -> [(&'static str, clap::Command); 6] {
    fn commands_of<T: Subcommand>() -> clap::Command {
        T::augment_subcommands(clap::Command::new(""))
    }
    [
        ("Instance", commands_of::<instance::Command>()),
        ("Services", commands_of::<services::Command>()),
        ("Observing", commands_of::<observing::Command>()),
        ("Network", commands_of::<network::Command>()),
        ("Measuring", commands_of::<measuring::Command>()),
        ("As on Android", commands_of::<android::Command>()),
    ]
}

impl Command {
    pub fn run_mode(&self, json: bool) -> RunMode {
        match self {
            Command::Instance(command) => command.run_mode(),
            Command::Services(command) => command.run_mode(),
            Command::Observing(command) => command.run_mode(json),
            Command::Network(_) => ENDLESS,
            Command::Measuring(command) => command.run_mode(),
            Command::Android(command) => command.run_mode(),
            Command::Generate(_) => ENDLESS,
            Command::Complete(_) => AT_ONCE,
        }
    }

    /// Whether this is the command that says what is running.
    pub fn is_status(&self) -> bool {
        matches!(self, Command::Instance(instance::Command::Status))
    }

    /// * `command_line`: as clap knows it
    pub fn run(&self, context: &Context, mut command_line: clap::Command) -> Result<ExitCode> {
        match self {
            Command::Instance(command) => command.run(context),
            Command::Services(command) => command.run(context),
            Command::Observing(command) => command.run(context),
            Command::Network(command) => command.run(context),
            Command::Measuring(command) => command.run(context),
            Command::Android(command) => command.run(context),
            Command::Generate(arguments) => generate::run(&mut command_line, arguments),
            Command::Complete(arguments) => complete::run(command_line, arguments),
        }
    }
}
