// SPDX-License-Identifier: Apache-2.0
//! A daemon and a service manager in a temporary directory, for as long as one command runs.
use crate::daemon::DaemonOptions;
use crate::instance::{self, InstanceOptions};
use crate::manager_process::ManagerOptions;
use crate::mount::Mount;
use crate::record::Record;
use anybinder_cli::error::{Doing, Error, Result};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// A temporary directory with a mount in it. Dropping it stops the daemon and removes everything.
pub struct TemporaryInstance {
    pub directory: PathBuf,
    pub mount: Mount,
    /// The processes, once started.
    pub record: Option<Record>,
}

impl TemporaryInstance {
    /// Makes the directory; starts nothing. `purpose` becomes part of its name.
    pub fn new(purpose: &str) -> Result<Self> {
        let name = format!("anybinder-{purpose}-{}", std::process::id());
        let parent = std::env::temp_dir();
        if !parent.is_dir() {
            return Err(Error::with_advice(
                format!("There is no directory {}.", parent.display()),
                "Make it, or name another one in TMPDIR.",
            ));
        }
        let directory = parent.join(name);
        std::fs::DirBuilder::new()
            .mode(0o755)
            .create(&directory)
            .doing(|| format!("making {}", directory.display()))?;
        let mount = Mount::new(Some(directory.join("mount")), Some(directory.join("state")))?;
        Ok(TemporaryInstance {
            directory,
            mount,
            record: None,
        })
    }

    /// Starts a daemon, and a service manager on `binder`.
    ///
    /// * `devices`: names of its devices, separated by commas, `binder` among them
    pub fn start(&mut self, devices: &str) -> Result<Record> {
        let options = InstanceOptions {
            daemon: DaemonOptions {
                devices: devices.to_string(),
                ..DaemonOptions::default()
            },
            managers: vec!["binder".to_string()],
            manager: ManagerOptions::default(),
        };
        let (record, _) = instance::start(&self.mount, &options)?;
        self.record = Some(record.clone());
        Ok(record)
    }

    /// Stops what was started and removes the directory. If a process does not end, its files stay.
    pub fn stop(&mut self) -> Result<()> {
        if let Some(record) = self.record.take() {
            instance::stop(&self.mount, &record)?;
        }
        if self.directory.exists() {
            std::fs::remove_dir_all(&self.directory)
                .doing(|| format!("removing {}", self.directory.display()))?;
        }
        Ok(())
    }
}

impl Drop for TemporaryInstance {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
