// SPDX-License-Identifier: Apache-2.0
//! `anybinder bridge MOUNT:DEVICE MOUNT:DEVICE NAME...`: services of one context in another one of
//! this machine.
//!
//! Each service is bridged by a process of its own, which ends with the service or with the other
//! service manager: so the driver tells clients of the death. Its parent starts the next one.
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::{note_error, say};
use anybinder_client::device::{self, no_service};
use anybinder_client::objects::Node;
use anybinder_client::raw_manager::{stability_of, RawManager, MANAGER};
use anybinder_driver::abi::TransactionData;
use anybinder_driver::parcel::{Speaker, Target, OWN_POINTER};
use anybinder_driver::relay::{Judge, Relay, Verdict, FLAGS};
use anybinder_mount::context::Context;
use anybinder_mount::mount::Mount;
use anybinder_rpc::dialect::header_word;
use std::convert::Infallible;
use std::ffi::CString;
use std::process::ExitCode;
use std::time::Duration;

/// The name of a process that bridges a service.
const PROGRAM: &str = "binder-bridge";

/// How often a service that is not registered is looked for, and a process is started again.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// The exit status of a process whose service or service manager is gone.
const LOST: i32 = 101;

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

/// Passes all on.
struct Open;

impl Judge for Open {
    fn judge(&self, _: &TransactionData) -> Verdict {
        Verdict::Pass
    }

    fn died(&self) {
        std::process::exit(LOST);
    }
}

/// Bridges a service until it or a service manager dies, which ends this process.
fn bridge((from, to): ((&Mount, &str), (&Mount, &str)), name: &str) -> Result<Infallible> {
    device::open(to.0, to.1, 0)?;
    device::service_manager(to.0, to.1)?;
    let foreign = device::foreign();
    let mut there = RawManager::open(from.0, from.1)?;
    let mut here = RawManager::open(to.0, to.1)?;
    let binder = loop {
        match there.look_up(name)? {
            Some(binder) => break binder,
            None => std::thread::sleep(LOOK_INTERVAL),
        }
    };
    let Target::Handle(handle) = binder.target else {
        return Err(no_service(name));
    };
    let speaker = match foreign {
        Some(foreign) => Speaker {
            level: foreign.level,
            header_word: header_word(),
        },
        None => there.registrant(name).unwrap_or_default(),
    };
    there.driver.request_death(handle, OWN_POINTER);
    here.driver.acquire(MANAGER);
    here.driver.request_death(MANAGER, MANAGER_COOKIE);
    let sides = [&here, &there].map(|manager| manager.driver.for_another_thread());
    let relay = Relay::new(sides.into(), handle, Box::new(Open));
    let _ = there.driver.flush();
    let node = Node::Own(OWN_POINTER, FLAGS);
    here.add(name, (node, stability_of(&binder)), speaker)?;
    relay.start(|_| std::process::exit(LOST));
    say(format_args!(
        "{name} bridged from {} to {}",
        from.0.file(from.1).display(),
        to.0.file(to.1).display()
    ));
    loop {
        std::thread::park();
    }
}

fn start(context: &Context, places: ((&Mount, &str), (&Mount, &str)), name: &str) -> Result<i32> {
    // SAFETY: this process has one thread, so that the child may go on like a new one.
    match unsafe { libc::fork() } {
        -1 => Err(Error::new("A process cannot be started.")),
        0 => {
            // SAFETY: only changes what happens to this process when its parent ends.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let _ = rustix::thread::set_name(&CString::new(PROGRAM).unwrap_or_default());
            let Err(error) = bridge(places, name);
            let may_pass = [Kind::CallFailed, Kind::NotWorking, Kind::NoManager];
            if may_pass.contains(&error.kind()) {
                std::process::exit(LOST);
            }
            note_error("anybinder", context.json, &error);
            std::process::exit(error.kind().exit_status().into())
        }
        pid => Ok(pid),
    }
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
        let mut status = 0;
        // SAFETY: writes the status of a child.
        let ended = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        let Some(at) = running.iter().position(|(pid, _)| *pid == ended) else {
            continue;
        };
        let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        if let Some(code) = code.filter(|code| *code != LOST) {
            return Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)));
        }
        std::thread::sleep(LOOK_INTERVAL);
        running[at].0 = start(context, places, running[at].1)?;
    }
}
