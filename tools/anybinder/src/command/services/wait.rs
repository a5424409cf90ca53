// SPDX-License-Identifier: Apache-2.0
//! `anybinder check NAME`: whether a service is registered; `anybinder wait NAME`: waits until it
//! is, and for the service manager before.
use anybinder_cli::error::Result;
use anybinder_cli::output::say;
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use rsbinder::{ProcessState, SIBinder};
use serde::Serialize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often a service manager without the newest notifications is asked.
const POLL: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The service's name
    name: String,

    #[command(flatten)]
    device: DeviceOption,
}

#[derive(Serialize)]
struct Found {
    name: String,
    descriptor: String,
    waited_ms: u64,
}

fn found(name: &str, service: &SIBinder, since: Instant) -> Found {
    Found {
        name: name.to_string(),
        descriptor: service.descriptor().to_string(),
        waited_ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

pub fn check(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let since = Instant::now();
    let service = device::find(&context.mount, &arguments.device.device, &arguments.name)?;
    let found = found(&arguments.name, &service, since);
    context.show(&found, |found| {
        say(format_args!(
            "{} is registered: {}",
            found.name, found.descriptor
        ));
    });
    Ok(ExitCode::SUCCESS)
}

pub fn wait(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let since = Instant::now();
    let device = &arguments.device.device;
    device::open(&context.mount, device, 1)?;
    let manager = device::wait_for_manager(&context.mount)?;
    ProcessState::start_thread_pool();
    let service = match device::foreign() {
        None => match manager.wait_for_service(&arguments.name) {
            Some(service) => service,
            // Refused, or the service manager is gone: the look-up says why.
            None => device::look_up(&context.mount, device, &arguments.name)?,
        },
        Some(foreign) => loop {
            let asked = foreign.service(&arguments.name);
            let what = "The service manager failed to look it up";
            match asked.map_err(|err| device::call_error(what, err))? {
                Some(service) => break service,
                None => std::thread::sleep(POLL),
            }
        },
    };
    let found = found(&arguments.name, &service, since);
    context.show(&found, |found| {
        say(format_args!(
            "{} is registered: {}, after {} ms",
            found.name, found.descriptor, found.waited_ms
        ));
    });
    Ok(ExitCode::SUCCESS)
}
