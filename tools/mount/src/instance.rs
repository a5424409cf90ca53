// SPDX-License-Identifier: Apache-2.0
//! A daemon and its service managers, started and stopped together.
use crate::daemon::{self, DaemonOptions};
use crate::error::Result;
use crate::manager::{self, ManagerOptions};
use crate::mount::{Backend, Mount};
use crate::namespace;
use crate::process::Running;
use crate::record::{Manager, Record};
use std::time::Duration;

/// How long a service manager may take to end before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The daemon and the service managers to start.
#[derive(Debug, clap::Args)]
pub struct InstanceOptions {
    #[command(flatten)]
    pub daemon: DaemonOptions,

    /// Devices that get a service manager, separated by commas; empty for none
    #[arg(
        long,
        value_name = "LIST",
        default_value = "binder",
        value_delimiter = ','
    )]
    pub managers: Vec<String>,

    #[command(flatten)]
    pub manager: ManagerOptions,
}

/// Starts a daemon that serves `mount`, then the service managers, and waits until all are ready.
/// After an error nothing is left running. Without the right to mount, this moves the calling
/// process into new namespaces (see `namespace`). Of a mount that is up, it only replaces the
/// service managers that have ended; fails if there is none.
pub fn start(mount: &Mount, options: &InstanceOptions) -> Result<Record> {
    mount.make_state()?;
    match Record::load(mount)? {
        Some(record) if record.running().is_some() => {
            return replace_managers(mount, options, record);
        }
        // A record without a daemon is what a crash left: a dead mount and managers without a
        // driver.
        Some(record) => {
            // It may be a daemon that answers late; only `down` clears such a mount.
            if mount.backend() == Backend::Stuck {
                return Err(mount.stuck_error());
            }
            stop(mount, &record)?;
        }
        None => {}
    }
    let started = daemon::start(mount, &options.daemon).inspect_err(|_| {
        if matches!(Record::load_running(mount), Ok(None)) {
            Record::remove(mount);
        }
    })?;
    let mut record = Record {
        mount: mount.path.clone(),
        daemon: started.process,
        managers: Vec::new(),
        private: started.private,
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
    for device in options.managers.iter().filter(|device| !device.is_empty()) {
        let manager = manager::start(mount, device, &options.manager)?;
        record.managers.push(manager);
    }
    Ok(())
}

/// Starts the service managers of a record that have ended once more.
fn replace_managers(
    mount: &Mount,
    options: &InstanceOptions,
    mut record: Record,
) -> Result<Record> {
    join(mount)?;
    let ended: Vec<usize> = (0..record.managers.len())
        .filter(|index| record.managers[*index].running().is_none())
        .collect();
    if ended.is_empty() {
        daemon::check_mount(mount)?;
    }
    mount.check_served()?;
    for index in ended {
        let device = record.managers[index].device.clone();
        record.managers[index] = manager::start(mount, &device, &options.manager)?;
        record.save(mount)?;
    }
    Ok(record)
}

/// Moves this process into the namespaces of the mount's daemon, if it has its own (see
/// `namespace`). Does nothing for a mount that `start` did not start.
pub fn join(mount: &Mount) -> Result<()> {
    match Record::load_running(mount)? {
        Some((record, daemon)) if record.private => namespace::join(&daemon),
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
    // A service manager cannot end while its driver does not answer.
    if mount.backend() != Backend::Stuck {
        stop_all(&managers)?;
    }
    daemon::stop(mount, record.running())?;
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
