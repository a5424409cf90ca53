// SPDX-License-Identifier: Apache-2.0
//! `anybinder service`: what `list` and `check` do.
use super::{list, registered, services_on};
use crate::command::observing::system::interfaces::Interfaces;
use anybinder_cli::error::{Kind, Result};
use anybinder_cli::output::{harmless, say};
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

/// How long the services may take to tell their interfaces.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Subcommand)]
enum Asked {
    /// List the services with their interfaces
    List,
    /// Say whether a service is registered
    Check {
        /// The service's name
        name: String,
    },
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    asked: Asked,

    #[command(flatten)]
    device: DeviceOption,
}

#[derive(Serialize)]
struct Service {
    name: String,
    interface: String,
}

#[derive(Serialize)]
struct Answer {
    name: String,
    found: bool,
}

fn print_interfaces(context: &Context, device: &str) -> Result<ExitCode> {
    let services = services_on(context, device)?;
    let mut interfaces = Interfaces::new(device::service_manager(&context.mount, device)?);
    services.iter().for_each(|one| interfaces.ask(&one.name));
    interfaces.collect(PATIENCE);
    let with_interface = |one: list::Service| Service {
        interface: interfaces.of(&one.name).to_string(),
        name: one.name,
    };
    let services: Vec<Service> = services.into_iter().map(with_interface).collect();
    context.show(&services, |services| {
        say(format_args!("Found {} services:", services.len()));
        for (index, one) in services.iter().enumerate() {
            let line = harmless(&format!("{}: [{}]", one.name, one.interface));
            say(format_args!("{index}\t{line}"));
        }
    });
    Ok(ExitCode::SUCCESS)
}

fn check(context: &Context, device: &str, name: &str) -> Result<ExitCode> {
    let found = match registered(context, device, name) {
        Ok(_) => true,
        Err(error) if error.kind() == Kind::NoService => false,
        Err(error) => return Err(error),
    };
    let answer = Answer {
        name: name.to_string(),
        found,
    };
    context.show(&answer, |answer| {
        let found = if answer.found { "found" } else { "not found" };
        say(format_args!("Service {}: {found}", answer.name));
    });
    Ok(ExitCode::SUCCESS)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let device = &arguments.device.device;
    match &arguments.asked {
        Asked::List => print_interfaces(context, device),
        Asked::Check { name } => check(context, device, name),
    }
}
