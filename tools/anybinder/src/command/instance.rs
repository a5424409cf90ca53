// SPDX-License-Identifier: Apache-2.0
//! Starts and stops what serves a mount, and what runs on it.
use super::{Limit, Place, RunMode, ENDLESS, SHORT};
use anybinder_cli::error::Result;
use anybinder_client::addints;
use anybinder_mount::context::Context;
use anybinder_mount::instance::InstanceOptions;
use std::process::ExitCode;

pub mod container;
pub mod demo;
pub mod device_check;
pub mod doctor;
pub mod down;
mod gbinder_config;
pub mod run;
pub mod servicemanager;
pub mod status;
pub mod up;
pub mod upgrade;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Start the daemon and a service manager
    Up(InstanceOptions),
    /// Stop the service manager and the daemon
    Down,
    /// Replace the daemon by the installed program while its clients go on
    Upgrade(upgrade::Arguments),
    /// Show what is running, and what to do about what is not
    Status,
    /// Try whether Binder works here for you, and say what to change
    Doctor(doctor::Arguments),
    /// Run a program that finds this mount at /dev/binderfs and its devices at /dev/binder, ...
    Run(run::Arguments),
    /// Print the arguments that give a container the devices
    Container(container::Arguments),
    /// Run the service manager of a device in the foreground
    Servicemanager(servicemanager::Arguments),
    /// Start everything in a temporary directory, show it at work, and stop it
    Demo(demo::Arguments),
    #[command(hide = true)]
    DeviceCheck(device_check::Arguments),
    #[command(hide = true)]
    DemoService(addints::Arguments),
    #[command(hide = true)]
    DemoClient(demo::demo_client::Arguments),
}

impl Command {
    pub fn run_mode(&self) -> RunMode {
        let (limit, place) = match self {
            Command::Up(_) => (Limit::Seconds(180), Place::New),
            Command::Down | Command::Upgrade(_) => (Limit::Seconds(180), Place::Joined),
            Command::Demo(_) => (Limit::Long, Place::New),
            Command::Doctor(_) => (Limit::Seconds(180), Place::Any),
            Command::Container(_) => (Limit::Seconds(60), Place::Any),
            Command::Status | Command::DeviceCheck(_) => return SHORT,
            Command::Run(_)
            | Command::Servicemanager(_)
            | Command::DemoService(_)
            | Command::DemoClient(_) => return ENDLESS,
        };
        RunMode { limit, place }
    }

    pub fn run(&self, context: &Context) -> Result<ExitCode> {
        match self {
            Command::Up(arguments) => up::run(context, arguments),
            Command::Down => down::run(context),
            Command::Upgrade(arguments) => upgrade::run(context, arguments),
            Command::Status => status::run(context),
            Command::Doctor(arguments) => doctor::run(context, arguments),
            Command::Run(arguments) => run::run(context, arguments),
            Command::Container(arguments) => container::run(context, arguments),
            Command::Servicemanager(arguments) => servicemanager::run(context, arguments),
            Command::Demo(arguments) => demo::run(context, arguments),
            Command::DeviceCheck(arguments) => device_check::run(context, arguments),
            Command::DemoService(arguments) => addints::run(context, arguments),
            Command::DemoClient(arguments) => demo::demo_client::run(context, arguments),
        }
    }
}
