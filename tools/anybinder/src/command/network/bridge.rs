// SPDX-License-Identifier: Apache-2.0
//! `anybinder bridge MOUNT:DEVICE MOUNT:DEVICE NAME...`: services of one context in another one of
//! this machine.
//!
//! Each service is bridged by a process of its own, which ends with the service or with the other
//! service manager: so the driver tells clients of the death. Its parent starts the next one.
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::say;
use anybinder_client::device;
use anybinder_client::raw_manager::{RawManager, MANAGER};
use anybinder_client::stand_in::{self, Service, LOST};
use anybinder_driver::parcel::{Speaker, OWN_POINTER};
use anybinder_driver::relay::Verdict;
use anybinder_mount::context::Context;
use anybinder_mount::mount::Mount;
use anybinder_rpc::dialect::header_word;
use rustix::process::{Pid, Signal, WaitOptions};
use std::convert::Infallible;
use std::process::ExitCode;
use std::time::Duration;

/// The name of a process that bridges a service.
const PROGRAM: &str = "binder-bridge";

/// How often a service that is not registered is looked for, and a process is started again.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// The cookie of the death of a service manager.
const MANAGER_COOKIE: u64 = OWN_POINTER + 1;

const HELP: &str = "\
Calls, objects, callbacks and files cross, and calls within calls go on in the threads that wait for
them. The death of a service is told to its clients; that of a client fails the calls to its
callbacks. Services see this command as their caller. Programs on both sides have to be of Android
levels with the same parcels.";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// Where the services are: MOUNT:DEVICE, or a device of this mount
    from: Place,

    /// Where they are registered as well
    to: Place,

    /// The names of the services; each is bridged while it lives
    #[arg(required = true)]
    name: Vec<String>,
}

/// A context.
#[derive(Clone, Debug)]
struct Place {
    mount: Option<String>,
    device: String,
}

impl std::str::FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Place, String> {
        let (mount, device) = match text.rsplit_once(':') {
            Some((mount, device)) => (Some(mount.to_string()), device),
            None => (None, text),
        };
        match device.is_empty() || device.contains('/') || mount.as_deref() == Some("") {
            true => Err("not MOUNT:DEVICE, nor a device".to_string()),
            false => Ok(Place {
                mount,
                device: device.to_string(),
            }),
        }
    }
}

impl Place {
    fn mount(&self, context: &Context) -> Result<Mount> {
        match &self.mount {
            None => Ok(context.mount.clone()),
            Some(path) => Mount::existing(Some(path.into()), None),
        }
    }
}

/// Bridges a service until it or a service manager dies, which ends this process.
fn bridge((from, to): ((&Mount, &str), (&Mount, &str)), name: &str) -> Result<Infallible> {
    device::open(to.0, to.1, 0)?;
    device::service_manager(to.0, to.1)?;
    let foreign = device::foreign();
    let mut there = RawManager::open(from.0, from.1)?;
    let mut here = RawManager::open(to.0, to.1)?;
    let mut service = loop {
        match Service::find(&mut there, name, Speaker::default())? {
            Some(service) => break service,
            None => std::thread::sleep(LOOK_INTERVAL),
        }
    };
    if let Some(foreign) = foreign {
        service.speaker = Speaker {
            level: foreign.level,
            header_word: header_word(),
        };
    }
    here.driver.acquire(MANAGER);
    here.driver.request_death(MANAGER, MANAGER_COOKIE);
    service.stand_in(&mut here, Some(&there), Box::new(|_| Verdict::Pass))?;
    say(format_args!(
        "{name} bridged from {} to {}",
        from.0.file(from.1).display(),
        to.0.file(to.1).display()
    ));
    loop {
        std::thread::park();
    }
}

fn start(context: &Context, places: ((&Mount, &str), (&Mount, &str)), name: &str) -> Result<Pid> {
    stand_in::start(PROGRAM, (Signal::KILL, context.json), || {
        let Err(error) = bridge(places, name);
        let may_pass = [Kind::CallFailed, Kind::NotWorking, Kind::NoManager];
        match may_pass.contains(&error.kind()) {
            true => std::process::exit(LOST),
            false => Err(error),
        }
    })
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let (from, to) = (arguments.from.mount(context)?, arguments.to.mount(context)?);
    let places = (
        (&from, &*arguments.from.device),
        (&to, &*arguments.to.device),
    );
    if from.file(places.0 .1) == to.file(places.1 .1) {
        return Err(Error::usage("Both places are the same."));
    }
    for (mount, device) in [places.0, places.1] {
        mount.check_device(device)?;
    }
    let mut running = Vec::new();
    for name in &arguments.name {
        device::check_aidl(places.0 .1, name)?;
        running.push((start(context, places, name)?, name));
    }
    loop {
        let ended = stand_in::wait(WaitOptions::empty())?;
        for (pid, name) in &mut running {
            let Some((_, status)) = ended.filter(|(ended, _)| ended == pid) else {
                continue;
            };
            if let Some(code) = status.filter(|code| *code != LOST) {
                return Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)));
            }
            std::thread::sleep(LOOK_INTERVAL);
            *pid = start(context, places, name)?;
        }
    }
}
