// SPDX-License-Identifier: Apache-2.0
//! `anybinder list`: the services that are registered with the service manager.
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::{harmless, note, say, say_lines};
use anybinder_client::device::{self, DeviceOption};
use anybinder_client::place::Place;
use anybinder_mount::context::Context;
use anybinder_mount::process::command_name;
use anybinder_rpc::foreign::{self, Foreign, Listed};
use anybinder_rpc::status_text::explain;
use rsbinder::hub::ServiceManager;
use rsbinder::{ExceptionCode, StatusCode};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// List the services that the files of the service manager declare, running or not
    #[arg(long)]
    declared: bool,

    #[command(flatten)]
    device: DeviceOption,
}

#[derive(Serialize, Deserialize)]
pub struct Service {
    pub name: String,
    #[serde(flatten)]
    pub place: Place,
    pub command: String,
}

fn not_allowed() -> Error {
    device::policy_error("The policy of the service manager does not let you list the services")
}

/// The error of a list that did not come. Someone may have registered so many names that it does
/// not fit into the buffer of any process.
fn too_long(why: &str) -> Error {
    Error::with_advice(
        format!("The service manager does not list its services: {why}."),
        "Perhaps there are more than this process can receive. To find one by its name works all \
         the same: `anybinder check NAME`, `ping NAME`, `watch NAME`.",
    )
    .of(Kind::CallFailed)
}

/// The names and processes of all services of the open device.
pub fn listed(foreign: Option<&Foreign>) -> Result<Vec<Listed>> {
    foreign::list(foreign).map_err(|status| match status {
        StatusCode::PermissionDenied => not_allowed(),
        other => too_long(&explain(other)),
    })
}

/// The services of the open device, by name.
pub fn services() -> Result<Vec<Service>> {
    services_of(device::foreign().as_ref())
}

/// The services, where it is known whether the service manager is one of an older level.
pub fn services_of(foreign: Option<&Foreign>) -> Result<Vec<Service>> {
    let with_place = |one: Listed| {
        // 0 where it does not say which.
        let pid = one.pid.unwrap_or(0);
        Service {
            name: one.name,
            place: Place::of_process(pid),
            command: command_name(pid as u32),
        }
    };
    let mut services: Vec<Service> = listed(foreign)?.into_iter().map(with_place).collect();
    services.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(services)
}

/// A line for each service.
pub fn table(services: &[Service]) -> String {
    let mut lines = vec![format!("{:>7}  {:<16} SERVICE", "PID", "COMMAND")];
    lines.extend(services.iter().map(|service| {
        harmless(&format!(
            "{:>7}  {:<16} {}{}",
            service.place.pid,
            service.command,
            service.name,
            service.place.suffix()
        ))
    }));
    lines.join("\n")
}

/// A declared service.
#[derive(Serialize)]
struct Declared {
    name: String,
    /// The process of the service; None: it is not registered.
    pid: Option<i32>,
    command: Option<String>,
}

/// The declared services. The service manager takes an empty interface as all.
fn declared(manager: &ServiceManager) -> Result<Vec<Declared>> {
    let mut running: HashMap<String, Service> = services()?
        .into_iter()
        .map(|service| (service.name.clone(), service))
        .collect();
    let names = manager.try_get_declared_instances("");
    let names = names.map_err(|status| match status.exception_code() {
        ExceptionCode::Security => not_allowed(),
        _ => Error::new("The service manager does not tell which services are declared.")
            .of(Kind::CallFailed),
    })?;
    let declared = names.into_iter().map(|name| {
        let service = running.remove(&name);
        Declared {
            pid: service.as_ref().map(|one| one.place.pid),
            command: service.map(|one| one.command),
            name,
        }
    });
    Ok(declared.collect())
}

fn print_declared(declared: &[Declared]) {
    say(format_args!("{:>7}  {:<16} SERVICE", "PID", "COMMAND"));
    for one in declared {
        let pid = one.pid.map_or("-".to_string(), |pid| pid.to_string());
        let command = one.command.as_deref().unwrap_or("-");
        say(format_args!("{pid:>7}  {command:<16} {}", one.name));
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let device = &arguments.device.device;
    device::open(&context.mount, device, 0)?;
    let manager = device::service_manager(&context.mount, device)?;
    if arguments.declared {
        let declared = declared(&manager)?;
        if declared.is_empty() {
            note("anybinder: The service manager names no declared services.");
        }
        context.show(&declared, |declared| print_declared(declared));
        return Ok(ExitCode::SUCCESS);
    }
    let services = services()?;
    if services.is_empty() {
        note(
            "anybinder: The list is empty: the policy of the service manager lets you find none \
             of its services, not even itself.",
        );
    }
    context.show(&services, |services| say_lines(table(services)));
    Ok(ExitCode::SUCCESS)
}
