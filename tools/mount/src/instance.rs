// SPDX-License-Identifier: Apache-2.0
//! A daemon and its service managers, started and stopped together.
use crate::daemon::{self, DaemonOptions};
use crate::error::Result;
use crate::manager::{self, ManagerOptions};
use crate::mount::Mount;
use crate::namespace;
use crate::record::Record;
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
/// process into new namespaces (see `namespace`).
pub fn start(mount: &Mount, options: &InstanceOptions) -> Result<Record> {
    // A record without a daemon is what a crash left: a dead mount and managers without a driver.
    if let Some(record) = Record::load(mount).filter(|record| !record.daemon.is_running()) {
        stop(mount, &record)?;
    }
    let started = daemon::start(mount, &options.daemon).inspect_err(|_| {
        if Record::load_running(mount).is_none() {
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
    let outcome = start_managers(mount, options, &mut record).and_then(|()| record.save(mount));
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

/// Moves this process into the namespaces of the mount's daemon, if it has its own (see
/// `namespace`). Does nothing for a mount that `start` did not start.
pub fn join(mount: &Mount) -> Result<()> {
    match Record::load_running(mount) {
        Some(record) if record.private => namespace::join(&record.daemon),
        _ => Ok(()),
    }
}

/// Stops every process of `record`, the service managers first so that none of them sees its
/// driver vanish, and removes what `start` made.
pub fn stop(mount: &Mount, record: &Record) -> Result<()> {
    for manager in &record.managers {
        manager.process.stop(STOP_TIMEOUT)?;
    }
    daemon::stop(mount, &record.daemon)?;
    if record.made_directory {
        // Fails, as it should, if the directory is in use.
        let _ = std::fs::remove_dir(&mount.path);
    }
    Record::remove(mount);
    Ok(())
}
