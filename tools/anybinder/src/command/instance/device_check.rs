// SPDX-License-Identifier: Apache-2.0
//! `anybinder device-check`: what this user finds on one device. For other commands, which ask
//! about several devices (see `anybinder_mount::device_check`).
//!
//! Two processes meet at the service manager: this one, and a service that it starts, is called,
//! passes files, and is killed, of which this one must hear.
use super::demo::demo_client;
use crate::command::services::list;
use anybinder_cli::error::{self, Doing, Error, Kind, Result};
use anybinder_cli::output::say;
use anybinder_client::addints::aidl::IAddInts;
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use anybinder_mount::device_check::{DeviceCheck, ManagerState, Passing};
use rsbinder::{ProcessState, Strong};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitCode, Stdio};

/// The names under which a service manager registers itself: Android's, and that of HIDL.
const HIDL: &str = "android.hidl.manager@1.0::IServiceManager/default";
const SELF: [&str; 2] = ["manager", HIDL];

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    device: DeviceOption,
    /// Also try files and deaths
    #[arg(long)]
    everything: bool,
}

/// The service, which ends with this process.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(context: &Context, device: &str, name: &str) -> Result<Service> {
    let mut command = context.mount.own_command("demo-service")?;
    command
        .args(["--json", "--device", device, "--name", name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: the closure makes one system call.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let child = command.spawn();
    Ok(Service(child.doing(|| "starting a service".to_string())?))
}

/// Waits until the service is registered. Err: it ended before, and what it said.
fn wait_registered(service: &mut Service) -> std::result::Result<(), String> {
    let mut line = String::new();
    let said = service.0.stdout.take().map(BufReader::new);
    if said.is_some_and(|mut said| said.read_line(&mut line).is_ok_and(|size| size > 0)) {
        return Ok(());
    }
    let mut text = String::new();
    if let Some(errors) = service.0.stderr.as_mut() {
        let _ = errors.read_to_string(&mut text);
    }
    let (why, _) = error::read_json(&text);
    Err(why.unwrap_or("the service ended".to_string()))
}

fn try_passing(context: &Context, device: &str) -> Result<Passing> {
    ProcessState::start_thread_pool();
    let manager = device::manager(&context.mount, device)?;
    let name = format!("anybinder.doctor.{}", std::process::id());
    let mut service = start(context, device, &name)?;
    if let Err(why) = wait_registered(&mut service) {
        return Ok(Passing::Refused(why));
    }
    let doing = || format!("looking up {name}");
    let Some(found) = manager.find(&name).doing(doing)? else {
        let why = "the service manager does not let you find a service of your own";
        return Ok(Passing::Refused(why.to_string()));
    };
    let calls: Strong<dyn IAddInts> = found.into_interface().doing(doing)?;
    demo_client::file_to_service(&calls)?;
    demo_client::file_from_service(&calls)?;
    demo_client::death(&calls, service.0.id() as i32)?;
    Ok(Passing::Works)
}

fn passing(context: &Context, device: &str) -> Passing {
    try_passing(context, device).unwrap_or_else(|error: Error| match error.kind() {
        Kind::Denied => Passing::Refused(error.line()),
        _ => Passing::Fails(error.line()),
    })
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let device = &arguments.device.device;
    let threads = if arguments.everything { 2 } else { 0 };
    device::open(&context.mount, device, threads)?;
    device::service_manager(&context.mount, device)?;
    // A service manager of another version or policy may refuse this.
    let services = list::services().unwrap_or_default();
    let own = services
        .iter()
        .find(|service| SELF.contains(&service.name.as_str()));
    let check = DeviceCheck {
        pid: own.and_then(|service| u32::try_from(service.place.pid).ok()),
        passing: match (arguments.everything, own) {
            (false, _) => Passing::NotAsked,
            (true, Some(own)) if own.name == HIDL => {
                Passing::Refused("its services are those of HIDL".to_string())
            }
            (true, _) => passing(context, device),
        },
        ..DeviceCheck::new(device.clone(), ManagerState::Answers)
    };
    context.show(&check, |check| say(format_args!("{check:?}")));
    Ok(ExitCode::SUCCESS)
}
