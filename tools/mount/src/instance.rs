// SPDX-License-Identifier: Apache-2.0
//! A daemon and its service managers, started and stopped together.
use crate::daemon::{self, DaemonOptions};
use crate::device_check::{Depth, ManagerState};
use crate::manager_process::{self, ManagerOptions};
use crate::mount::{Backend, Mount};
use crate::namespace;
use crate::process::Running;
use crate::record::{Manager, Record};
use anybinder_cli::error::{Error, Result};
use std::time::{Duration, Instant};

/// How long a service manager may take to end before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The processes of a daemon of which one was killed have ended by then.
const END_TIMEOUT: Duration = Duration::from_millis(2500);

/// The daemon and the service managers to start.
#[derive(Debug, clap::Args)]
pub struct InstanceOptions {
    #[command(flatten)]
    pub daemon: DaemonOptions,

    /// Devices that get a service manager, separated by commas; empty for none
    /// [default: binder and hwbinder, where they exist]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub managers: Vec<String>,

    #[command(flatten)]
    pub manager: ManagerOptions,
}

/// The devices that get a service manager if none are named.
const MANAGED_DEVICES: [&str; 2] = ["binder", "hwbinder"];

impl InstanceOptions {
    /// The devices that get a service manager.
    fn managed_devices(&self, mount: &Mount) -> Vec<String> {
        if !self.managers.is_empty() {
            let wanted = self.managers.iter().filter(|device| !device.is_empty());
            return wanted.cloned().collect();
        }
        let first = MANAGED_DEVICES[0];
        // Without the device `binder`, a service manager on it is an error to be shown.
        let is_default = |device: &str| mount.file(device).exists() || device == first;
        MANAGED_DEVICES
            .into_iter()
            .filter(|device| is_default(device))
            .map(String::from)
            .collect()
    }
}

/// How `start` found the mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// Nothing was up.
    Everything,
    /// `up` had been called before.
    Again,
    /// Another command had started the daemon, or the kernel serves the mount.
    Beside,
}

/// Starts a daemon that serves `mount`, then the service managers, and waits until all are ready.
/// After an error nothing is left running. Without the right to mount, this moves the calling
/// process into new namespaces (see `namespace`). Of a mount that is served already, it only starts
/// the service managers that are missing.
pub fn start(mount: &Mount, options: &InstanceOptions) -> Result<(Record, Started)> {
    mount.make_state()?;
    if let Some(record) = Record::load(mount)? {
        wait_for_end_of_killed(mount, &record);
    }
    match Record::load(mount)? {
        Some(record) if record.running().is_some() => {
            check_effect(mount, options)?;
            join(mount)?;
            return Ok((fill_in(mount, options, record)?, Started::Again));
        }
        // A record without a daemon is what a crash left: a dead mount and managers without a
        // driver.
        Some(record) if record.daemon.is_some() => {
            // The daemon may answer late; only `down` clears such a mount.
            if mount.backend() == Backend::Stuck {
                return Err(mount.stuck_error());
            }
            stop(mount, &record)?;
        }
        Some(record) if matches!(mount.backend(), Backend::Daemon | Backend::Kernel) => {
            return Ok((fill_in(mount, options, record)?, Started::Beside));
        }
        Some(record) => stop(mount, &record)?,
        None => {}
    }
    if matches!(mount.backend(), Backend::Daemon | Backend::Kernel) {
        check_effect(mount, options)?;
        let record = Record {
            mount: mount.path.clone(),
            daemon: None,
            managers: Vec::new(),
            private: false,
            namespace: None,
            made_directory: false,
        };
        return Ok((fill_in(mount, options, record)?, Started::Beside));
    }
    Ok((start_all(mount, options)?, Started::Everything))
}

/// A daemon consists of several processes. When one was killed, the others end a moment later;
/// until then the record and the mount do not agree.
fn wait_for_end_of_killed(mount: &Mount, record: &Record) {
    let start = Instant::now();
    while record.daemon.is_some() && start.elapsed() < END_TIMEOUT {
        let backend = mount.backend();
        let is_served = backend == Backend::Daemon;
        if backend == Backend::Stuck || is_served == record.running().is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Fails, with advice, if options were given that only a new daemon could be given.
fn check_effect(mount: &Mount, options: &InstanceOptions) -> Result<()> {
    let given = options.daemon.given();
    if given.is_empty() {
        return Ok(());
    }
    let path = mount.path.display();
    Err(Error::with_advice(
        format!(
            "{path} is served already, and {} would have no effect.",
            given.join(", ")
        ),
        "Leave the options out to use it as it is, stop it first (see `anybinder status`), or \
         choose another directory with --mount.",
    ))
}

fn start_all(mount: &Mount, options: &InstanceOptions) -> Result<Record> {
    let started = daemon::start(mount, &options.daemon).inspect_err(|_| {
        if matches!(Record::load_running(mount), Ok(None)) {
            Record::remove(mount);
        }
    })?;
    let mut record = Record {
        mount: mount.path.clone(),
        daemon: Some(started.process),
        managers: Vec::new(),
        private: started.private,
        namespace: namespace::mount_namespace().filter(|_| started.private),
        made_directory: started.made_directory,
    };
    // Saved at once, so that `down` finds the daemon if this process is killed.
    let outcome = record
        .save(mount)
        .and_then(|()| start_managers(mount, options, &mut record))
        .and_then(|()| record.save(mount));
    if let Err(error) = outcome {
        // The first error is the one to report.
        let _ = stop(mount, &record);
        return Err(error);
    }
    Ok(record)
}

fn start_managers(mount: &Mount, options: &InstanceOptions, record: &mut Record) -> Result<()> {
    let devices = options.managed_devices(mount);
    manager_process::start(mount, &devices, &options.manager, &mut record.managers)
}

/// A service manager that died just now is being started again by its keeper, which ends itself
/// when that does not succeed.
fn wait_for_restarted(mount: &Mount, record: &Record) -> Result<()> {
    loop {
        let kept = record.managers.iter().filter(|one| one.running().is_some());
        let devices: Vec<String> = kept.map(|one| one.device.clone()).collect();
        let checks = mount.ask_each(&devices, Depth::Manager)?;
        if checks.iter().all(|check| check.state != ManagerState::None) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Starts the wanted service managers that do not run, and those of the record that have ended.
fn fill_in(mount: &Mount, options: &InstanceOptions, mut record: Record) -> Result<Record> {
    mount.check_served()?;
    wait_for_restarted(mount, &record)?;
    let mut missing: Vec<String> = record
        .managers
        .iter()
        .filter(|manager| manager.running().is_none())
        .map(|manager| manager.device.clone())
        .collect();
    for device in options.managed_devices(mount) {
        let is_known = record.managers.iter().any(|one| one.device == device);
        mount.check_device(&device)?;
        if !is_known && mount.ask(&device)? == ManagerState::None {
            missing.push(device);
        }
    }
    let mut started = Vec::new();
    let outcome = manager_process::start(mount, &missing, &options.manager, &mut started);
    if !started.is_empty() {
        let is_new = |device: &str| started.iter().any(|one| one.device == device);
        record.managers.retain(|one| !is_new(&one.device));
        record.managers.extend(started);
        record.save(mount)?;
    }
    outcome.map(|()| record)
}

/// Moves this process into the namespaces of the mount's daemon, if it has its own (see
/// `namespace`). Does nothing for a mount that `start` did not start, and needs no record of one
/// that is seen from here.
pub fn join(mount: &Mount) -> Result<()> {
    if mount.is_seen() {
        return Ok(());
    }
    match Record::load_running(mount)? {
        Some((record, daemon))
            if record.private && record.namespace != namespace::mount_namespace() =>
        {
            // Judged while the owners of directories appear as what they are.
            mount.parent()?;
            namespace::join(&daemon)
        }
        _ => Ok(()),
    }
}

/// Stops every process of `record` that still runs, the service managers first so that none of
/// them sees its driver vanish, and removes what `start` made.
pub fn stop(mount: &Mount, record: &Record) -> Result<()> {
    let managers: Vec<Running> = record
        .managers
        .iter()
        .filter_map(Manager::running)
        .collect();
    // One process may serve several devices; to stop it again does nothing.
    // A service manager cannot end while its driver does not answer.
    if mount.backend() != Backend::Stuck {
        stop_all(&managers)?;
    }
    if record.daemon.is_some() {
        daemon::stop(mount, record.running())?;
    }
    stop_all(&managers)?;
    if record.made_directory {
        daemon::remove_mount_directory(mount);
    }
    Record::remove(mount);
    Ok(())
}

fn stop_all(managers: &[Running]) -> Result<()> {
    managers
        .iter()
        .try_for_each(|manager| manager.stop(STOP_TIMEOUT))
}
