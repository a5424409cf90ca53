// SPDX-License-Identifier: Apache-2.0
//! The uppermost layer, the process: a server for each device, and the signals.
mod aidl_methods;
mod device_server;
mod device_state;
mod dispatch;
mod hidl_methods;
mod listing;
mod positions;
mod turns;
mod waiting;
mod work;

#[cfg(test)]
mod fairness_test;

pub use device_server::{Cause, End};

use crate::policy::Policy;
use anybinder_cli::output::note;
use anybinder_driver::abi;
use anybinder_driver::driver::Driver;
use anybinder_driver::level::Level;
use device_server::Server;
use device_state::Settings;
use dispatch::Manager;
use rsbinder_tools::notify::Notifier;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::thread;

/// What to serve, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names and paths of the devices, and what is spoken there.
    pub devices: Vec<(String, PathBuf, Protocol)>,
    pub policy: Option<PathBuf>,
    /// Rules by security context.
    pub contexts: Option<PathBuf>,
    pub has_android_uids: bool,
    pub allow_replacing_others: bool,
    /// Whether requests may have files, which are closed.
    pub accept_files: bool,
    /// How many services and callbacks a user may register on a device.
    pub per_user: usize,
}

fn failed(why: String) -> End {
    End {
        why,
        cause: Cause::Other,
    }
}

/// Opens every device and becomes its context manager.
fn open_all(options: &Options, policy: &Arc<Policy>) -> Result<Vec<Server>, End> {
    let mut devices = Vec::new();
    for (name, path, protocol) in &options.devices {
        let shown = path.display();
        let mut driver =
            Driver::open(path).map_err(|err| failed(format!("{shown} cannot be opened: {err}")))?;
        let mut flags = 0;
        if policy.needs_contexts() {
            flags |= abi::NEEDS_CONTEXT;
        }
        // The driver itself closes arrays of files, which HIDL has.
        if options.accept_files && *protocol != Protocol::Hidl {
            flags |= abi::ACCEPTS_FDS;
        }
        driver.become_manager(flags).map_err(|err| match err {
            err if err.raw_os_error() == Some(libc::EBUSY) => End {
                why: format!("{shown} has a service manager already"),
                cause: Cause::Taken,
            },
            err => failed(format!("{shown} does not accept a service manager: {err}")),
        })?;
        let settings = Settings {
            level: match protocol {
                Protocol::Aidl(level) => *level,
                Protocol::Hidl => Level::A16,
            },
            is_hidl: *protocol == Protocol::Hidl,
            per_user: options.per_user,
            allow_replacing_others: options.allow_replacing_others,
        };
        let manager = Manager::new(name, settings, Arc::clone(policy), &mut driver);
        devices.push(Server::new(name, driver, manager));
    }
    Ok(devices)
}

/// Reloads the rules on each SIGHUP; does not return.
fn reload_on_signal(signals: &libc::sigset_t, policy: &Policy) -> ! {
    loop {
        let mut signal = 0;
        // SAFETY: a set that was filled, and a live integer.
        unsafe { libc::sigwait(signals, &raw mut signal) };
        match policy.reload() {
            Ok(()) => note("servicemanager: the rules were read again"),
            Err(why) => note(format_args!(
                "servicemanager: {why}; the old rules stay in force"
            )),
        }
    }
}

/// Blocks SIGHUP in this thread and those that it starts.
fn block_reload_signal() -> libc::sigset_t {
    // SAFETY: the set is initialised by sigemptyset before it is used.
    unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGHUP);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        signals
    }
}

/// Serves the devices. Returns only if that fails: one of them has ended, or cannot be served.
pub fn serve(options: &Options) -> End {
    let signals = block_reload_signal();
    // Changes the environment, so before any thread.
    let notifier = Notifier::from_environment();
    let loaded = Policy::load(
        options.policy.as_deref(),
        options.contexts.as_deref(),
        options.has_android_uids,
    );
    let policy = match loaded {
        Ok(policy) => Arc::new(policy),
        Err(why) => return failed(why),
    };
    let devices = match open_all(options, &policy) {
        Ok(devices) => devices,
        Err(end) => return end,
    };
    let (sender, ended) = std::sync::mpsc::channel();
    let names: Vec<String> = options
        .devices
        .iter()
        .map(|(name, _, _)| name.clone())
        .collect();
    for device in devices {
        let sender = sender.clone();
        thread::spawn(move || device.serve(&sender));
    }
    thread::spawn(move || reload_on_signal(&signals, &policy));
    notifier.ready(&format!("serving {}", names.join(", ")));
    ended
        .recv()
        .unwrap_or_else(|_| failed("every thread has ended".to_string()))
}

/// What the clients of a device speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// AIDL; the level of calls that could be of several.
    Aidl(Level),
    /// HIDL: `hwservicemanager`.
    Hidl,
}

impl Protocol {
    /// The protocol of a device whose user did not say.
    pub fn of_device(name: &str) -> Protocol {
        match name.contains("hwbinder") {
            true => Protocol::Hidl,
            false => Protocol::Aidl(Level::A16),
        }
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Protocol, String> {
        match text {
            "hidl" => Ok(Protocol::Hidl),
            text => match text.parse() {
                Ok(level) => Ok(Protocol::Aidl(level)),
                Err(why) => Err(format!("{why}, and hidl for one device")),
            },
        }
    }
}
