// SPDX-License-Identifier: Apache-2.0
//! The commands by their purpose: a group has a folder, and each of its commands a file there. How
//! a command is run: for how long, and on which mount.
use anybinder_cli::error::Result;
use anybinder_mount::context::Context;
use clap::Subcommand;
use std::process::ExitCode;

pub mod android;
pub mod complete;
pub mod generate;
pub mod instance;
pub mod measuring;
pub mod network;
pub mod observing;
pub mod services;
pub mod testing;

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
    Testing(testing::Command),
    #[command(flatten)]
    Android(android::Command),
    #[command(hide = true)]
    Generate(generate::Arguments),
    #[command(hide = true)]
    Complete(complete::Arguments),
}

/// The groups, with the commands of each.
pub fn groups() -> [(&'static str, clap::Command); 7] {
    fn commands_of<T: Subcommand>() -> clap::Command {
        T::augment_subcommands(clap::Command::new(""))
    }
    [
        ("Instance", commands_of::<instance::Command>()),
        ("Services", commands_of::<services::Command>()),
        ("Observing", commands_of::<observing::Command>()),
        ("Network", commands_of::<network::Command>()),
        ("Measuring", commands_of::<measuring::Command>()),
        ("Testing", commands_of::<testing::Command>()),
        ("As on Android", commands_of::<android::Command>()),
    ]
}

impl Command {
    pub fn run_mode(&self, json: bool) -> RunMode {
        match self {
            Command::Instance(command) => command.run_mode(),
            Command::Services(command) => command.run_mode(),
            Command::Observing(command) => command.run_mode(json),
            Command::Network(command) => command.run_mode(),
            Command::Measuring(command) => command.run_mode(),
            Command::Testing(command) => command.run_mode(),
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
            Command::Testing(command) => command.run(context),
            Command::Android(command) => command.run(context),
            Command::Generate(arguments) => generate::run(&mut command_line, arguments),
            Command::Complete(arguments) => complete::run(command_line, arguments),
        }
    }
}

/// How long a command may take.
pub enum Limit {
    /// The command takes so many seconds at most, unless --timeout says otherwise.
    Seconds(u32),
    /// The command, which measures or shows what happens, takes what it needs, unless --timeout
    /// says otherwise.
    Long,
    /// The command lasts as long as what it starts or serves, and takes no --timeout.
    None,
}

/// Which mount a command works on, and whether it runs inside the namespaces of the daemon.
pub enum Place {
    /// A mount that is to be made: the command starts a daemon of its own.
    New,
    /// A mount that need not exist; outside.
    Any,
    /// A mount that exists; inside.
    Joined,
}

pub struct RunMode {
    pub limit: Limit,
    pub place: Place,
}

/// A command that looks at what there is, or asks for something.
pub const SHORT: RunMode = RunMode {
    limit: Limit::Seconds(60),
    place: Place::Joined,
};
/// A command that shows what happens until it is interrupted.
pub const LONG: RunMode = RunMode {
    limit: Limit::Long,
    place: Place::Joined,
};
/// A command that starts another program or serves others.
pub const ENDLESS: RunMode = RunMode {
    limit: Limit::None,
    place: Place::Joined,
};
/// A command that somebody waits for at a key; it finds its mount itself.
pub const AT_ONCE: RunMode = RunMode {
    limit: Limit::Seconds(1),
    place: Place::Any,
};
