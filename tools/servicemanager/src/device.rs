// SPDX-License-Identifier: Apache-2.0
//! The process: a thread for each device, and the signals.
use crate::abi::{self, TransactionData};
use crate::driver::{Driver, Event};
use crate::level::Level;
use crate::manager::{Manager, Settings, Transaction};
use crate::policy::Policy;
use crate::registry::Caller;
use crate::reply::Reply;
use rsbinder::StatusCode;
use rsbinder_tools::notify::Notifier;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How often the clients of lazy services are counted, as in AOSP's service manager.
const CLIENTS_INTERVAL: Duration = Duration::from_secs(5);

/// What to serve, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names and paths of the devices, and the level of calls that could be of several.
    pub devices: Vec<(String, PathBuf, Level)>,
    pub policy: Option<PathBuf>,
    pub has_android_uids: bool,
    pub allow_replacing_others: bool,
    /// How many services and callbacks a user may register on a device.
    pub per_user: usize,
}

struct Device {
    driver: Driver,
    manager: Manager,
    counted: Instant,
}

impl Device {
    /// Waits for work and does it, until the driver ends.
    fn serve(&mut self) -> io::Error {
        loop {
            if let Err(err) = self.turn() {
                return err;
            }
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let is_lazy = self.manager.registry.has_lazy_services();
        let timeout = is_lazy.then(|| CLIENTS_INTERVAL.saturating_sub(self.counted.elapsed()));
        if self.driver.wait(timeout)? {
            for event in self.driver.exchange()? {
                self.handle(&event)?;
            }
        }
        if is_lazy && self.counted.elapsed() >= CLIENTS_INTERVAL {
            self.counted = Instant::now();
            self.manager.registry.check_clients(&mut self.driver);
        }
        self.flush()
    }

    /// Writes what is left, and does what comes in with that.
    fn flush(&mut self) -> io::Result<()> {
        while self.driver.has_commands() {
            for event in self.driver.exchange()? {
                self.handle(&event)?;
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Transaction(transaction) => self.transaction(transaction),
            Event::Died(cookie) => self.manager.died(&mut self.driver, *cookie),
        }
        Ok(())
    }

    fn transaction(&mut self, incoming: &TransactionData) {
        let answer = match self.driver.contents(incoming) {
            Some((data, offsets)) => {
                let transaction = Transaction {
                    code: incoming.code,
                    caller: Caller {
                        pid: incoming.sender_pid,
                        uid: incoming.sender_euid,
                    },
                    data: &data,
                    offsets: &offsets,
                };
                self.manager.answer(&mut self.driver, &transaction)
            }
            None => StatusCode::BadValue.into(),
        };
        if incoming.flags & abi::TF_ONE_WAY == 0 {
            match answer {
                Reply::Parcel(parcel) => self.driver.reply(parcel),
                Reply::Status(status) => self.driver.reply_status(status),
            }
        }
        self.driver.free(incoming);
    }
}

/// Opens every device and becomes its context manager.
fn open_all(options: &Options, policy: &Arc<Policy>) -> Result<Vec<(String, Device)>, String> {
    let mut devices = Vec::new();
    for (name, path, level) in &options.devices {
        let shown = path.display();
        let mut driver =
            Driver::open(path).map_err(|err| format!("{shown} cannot be opened: {err}"))?;
        driver.become_manager().map_err(|err| match err {
            err if err.raw_os_error() == Some(libc::EBUSY) => {
                format!("{shown} has a service manager already")
            }
            err => format!("{shown} does not accept a service manager: {err}"),
        })?;
        let settings = Settings {
            level: *level,
            per_user: options.per_user,
            allow_replacing_others: options.allow_replacing_others,
        };
        let manager = Manager::new(name, settings, Arc::clone(policy), &mut driver);
        let counted = Instant::now();
        let device = Device {
            driver,
            manager,
            counted,
        };
        devices.push((name.clone(), device));
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
            Ok(()) => eprintln!("servicemanager: the rules were read again"),
            Err(why) => eprintln!("servicemanager: {why}; the old rules stay in force"),
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
pub fn serve(options: &Options) -> String {
    let signals = block_reload_signal();
    // Changes the environment, so before any thread.
    let notifier = Notifier::from_environment();
    let policy = match Policy::load(options.policy.as_deref(), options.has_android_uids) {
        Ok(policy) => Arc::new(policy),
        Err(why) => return why,
    };
    let devices = match open_all(options, &policy) {
        Ok(devices) => devices,
        Err(why) => return why,
    };
    let (sender, ended) = std::sync::mpsc::channel();
    let names: Vec<String> = devices.iter().map(|(name, _)| name.clone()).collect();
    for (name, mut device) in devices {
        let sender = sender.clone();
        thread::spawn(move || {
            let why = device.serve();
            // The receiver lives as long as the process.
            let _ = sender.send(format!("{name} is served no more: {why}"));
        });
    }
    thread::spawn(move || reload_on_signal(&signals, &policy));
    notifier.ready(&format!("serving {}", names.join(", ")));
    ended
        .recv()
        .unwrap_or_else(|_| "every thread has ended".to_string())
}
