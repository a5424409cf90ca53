// SPDX-License-Identifier: Apache-2.0
//! `anybinder check NAME`: whether a service is registered; `anybinder wait NAME`: waits until it
//! is, and for the service manager before.
use super::list;
use anybinder_cli::error::{Kind, Result};
use anybinder_cli::output::say;
use anybinder_cli::time_limit::waits_because;
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use anybinder_rpc::foreign::Foreign;
use rsbinder::hub::ServiceManager;
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

impl Arguments {
    pub fn of(name: &str, device: &str) -> Arguments {
        Arguments {
            name: name.to_string(),
            device: DeviceOption {
                device: device.to_string(),
            },
        }
    }
}

#[derive(Serialize)]
struct Found {
    name: String,
    descriptor: String,
    waited_ms: u64,
}

fn found(name: &str, descriptor: &str, since: Instant) -> Found {
    Found {
        name: name.to_string(),
        descriptor: descriptor.to_string(),
        waited_ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

/// The interface of a service of HIDL, which its name says, if a service manager lists it.
fn listed(foreign: Option<&Foreign>, name: &str) -> Result<Option<String>> {
    let services = list::listed(foreign)?;
    let is_there = services.iter().any(|one| one.name == name);
    let (interface, _) = name.split_once('/').unwrap_or((name, ""));
    Ok(is_there.then(|| interface.to_string()))
}

pub fn check(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let since = Instant::now();
    let device = &arguments.device.device;
    let descriptor = match device::is_hidl(&arguments.name) {
        true => {
            device::open(&context.mount, device, 0)?;
            device::service_manager(&context.mount, device)?;
            let found = listed(device::foreign().as_ref(), &arguments.name)?;
            found.ok_or_else(|| device::no_service(&arguments.name))?
        }
        false => {
            let service = device::find(&context.mount, device, &arguments.name)?;
            service.descriptor().to_string()
        }
    };
    let found = found(&arguments.name, &descriptor, since);
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
    let manager = device::wait_for_manager(&context.mount, device)?;
    let foreign = device::foreign();
    let descriptor = match device::is_hidl(&arguments.name) {
        true => loop {
            match listed(foreign.as_ref(), &arguments.name)? {
                Some(interface) => break interface,
                None => sleep_without(&arguments.name),
            }
        },
        false => wait_for(context, arguments, (&manager, foreign))?
            .descriptor()
            .to_string(),
    };
    let found = found(&arguments.name, &descriptor, since);
    context.show(&found, |found| {
        say(format_args!(
            "{} is registered: {}, after {} ms",
            found.name, found.descriptor, found.waited_ms
        ));
    });
    Ok(ExitCode::SUCCESS)
}

/// Waits until a service of AIDL is registered.
pub fn until_registered(context: &Context, device: &DeviceOption, name: &str) -> Result<()> {
    device::open(&context.mount, &device.device, 1)?;
    let manager = device::wait_for_manager(&context.mount, &device.device)?;
    let arguments = Arguments::of(name, &device.device);
    wait_for(context, &arguments, (&manager, device::foreign())).map(|_| ())
}

/// Waits a little for a service that is not registered.
fn sleep_without(name: &str) {
    waits_because(&device::no_service(name));
    std::thread::sleep(POLL);
}

fn wait_for(
    context: &Context,
    arguments: &Arguments,
    (manager, foreign): (&ServiceManager, Option<Foreign>),
) -> Result<SIBinder> {
    let (device, name) = (&arguments.device.device, &arguments.name);
    ProcessState::start_thread_pool();
    if let Some(foreign) = foreign {
        loop {
            let what = "The service manager failed to look it up";
            let found = foreign.service(name);
            match found.map_err(|err| device::call_error(what, err))? {
                Some(service) => return Ok(service),
                None => sleep_without(name),
            }
        }
    }
    let look_up = || device::look_up(&context.mount, device, name);
    match look_up() {
        Err(error) if error.kind() == Kind::NoService => waits_because(&error),
        outcome => return outcome,
    }
    // Refused, or the service manager is gone: the look-up says why.
    manager.wait_for_service(name).map_or_else(look_up, Ok)
}
