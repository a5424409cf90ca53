// SPDX-License-Identifier: Apache-2.0
//! `anybinder list`: the services that are registered with the service manager.
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Result};
use anybinder_mount::process::command_name;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct Service {
    name: String,
    pid: i32,
    command: String,
}

pub fn run(context: &Context, option: &DeviceOption) -> Result<ExitCode> {
    device::open(&context.mount, &option.device, 0)?;
    let manager = device::service_manager(&context.mount, &option.device)?;
    let known = manager
        .get_service_debug_info()
        .doing(|| "asking the service manager".to_string())?;
    let mut services: Vec<Service> = known
        .into_iter()
        .map(|info| Service {
            name: info.name,
            pid: info.debugPid,
            command: command_name(info.debugPid as u32),
        })
        .collect();
    services.sort_by(|a, b| a.name.cmp(&b.name));
    context.show(&services, |services| {
        println!("{:>7}  {:<16} SERVICE", "PID", "COMMAND");
        for service in services {
            println!(
                "{:>7}  {:<16} {}",
                service.pid, service.command, service.name
            );
        }
    });
    Ok(ExitCode::SUCCESS)
}
