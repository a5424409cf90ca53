// SPDX-License-Identifier: Apache-2.0
//! What `up` writes down for later commands: the processes it started and what it made.
//!
//! The record is a small JSON file in the state directory. Everything that can be seen from the
//! mount itself is looked at there, never in the record: a mount whose daemon was started by
//! systemd, or that the kernel serves, has no record at all.
//!
//! A record names processes that will be signalled. So it is read and written only in a directory
//! that no other user can change, and a process is signalled only if it is what the record says.
use crate::mount::Mount;
use crate::process::{Process, Running, DAEMON, SERVICE_MANAGER};
use anybinder_cli::error::{Doing, Error, Result};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::PathBuf;

/// Files of the state directory that belong to one mount.
const SUFFIXES: [&str; 4] = [RECORD, "pid", "daemon.log", "manager.log"];
const RECORD: &str = "json";

/// One service manager and the device whose context it manages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manager {
    pub device: String,
    /// The keeper, which ends the service manager and starts it again (`keeper`).
    pub process: Process,
}

impl Manager {
    fn open(&self, process: &Process) -> Option<Running> {
        process.open(SERVICE_MANAGER, OsStr::new(&self.device))
    }

    /// The service manager, if it still runs.
    pub fn running(&self) -> Option<Running> {
        self.open(&self.process)
    }

    /// The process that serves the device now: the child of the keeper. While there is none, the
    /// recorded one.
    pub fn serving(&self) -> Process {
        let mut children = self.process.children();
        children
            .find(|process| self.open(process).is_some())
            .unwrap_or_else(|| self.process.clone())
    }
}

/// What `up` started for a mount: a daemon and its service managers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub mount: PathBuf,
    /// None if the mount was served already, by a daemon that another command started or by the
    /// kernel: then only the service managers are ours.
    pub daemon: Option<Process>,
    pub managers: Vec<Manager>,
    /// The mount is in namespaces of the daemon, made by a user without privileges.
    pub private: bool,
    /// The mount namespace of the daemon (its inode), if it is private.
    pub namespace: Option<u64>,
    /// `up` made the mount directory, so `down` removes it.
    pub made_directory: bool,
}

impl Record {
    /// The record of a mount, whether or not its daemon still runs; None if there is none. Fails,
    /// with advice, if another user could have written it, or if it is damaged.
    pub fn load(mount: &Mount) -> Result<Option<Record>> {
        let Some(state) = mount.state()? else {
            return Ok(None);
        };
        let Some(text) = state.read(&mount.state_name(RECORD))? else {
            return Ok(None);
        };
        let record: Option<Record> = serde_json::from_str(&text).ok();
        match record.filter(|record| record.mount == mount.path) {
            Some(record) => Ok(Some(record)),
            None => {
                let path = mount.state_file(RECORD);
                Err(Error::with_advice(
                    format!("{} is no record of this mount.", path.display()),
                    format!(
                        "Stop anybinderd if it runs, and remove the file: rm {}",
                        path.display()
                    ),
                ))
            }
        }
    }

    /// The record of a mount whose daemon still runs, and the daemon.
    pub fn load_running(mount: &Mount) -> Result<Option<(Record, Running)>> {
        let record = Record::load(mount)?;
        Ok(record.and_then(|record| {
            let daemon = record.running()?;
            Some((record, daemon))
        }))
    }

    /// The pid of the daemon that `up` started, for messages.
    pub fn daemon_pid(&self) -> String {
        let daemon = self.daemon.as_ref();
        daemon.map_or("-".to_string(), |daemon| daemon.pid.to_string())
    }

    /// The daemon, if `up` started it and it still runs.
    pub fn running(&self) -> Option<Running> {
        let daemon = self.daemon.as_ref()?;
        daemon.open(DAEMON, self.mount.as_os_str())
    }

    /// `up` started a daemon, and it ended without `down`.
    pub fn has_died(&self) -> bool {
        self.daemon.is_some() && self.running().is_none()
    }

    /// Writes the record; makes the state directory if there is none.
    pub fn save(&self, mount: &Mount) -> Result<()> {
        let text = serde_json::to_string_pretty(self).doing(|| "writing a record".to_string())?;
        mount
            .make_state()?
            .write(&mount.state_name(RECORD), &(text + "\n"))
    }

    /// Removes the record and the log files of a mount; missing ones are no error.
    pub fn remove(mount: &Mount) {
        if let Ok(Some(state)) = mount.state() {
            for suffix in SUFFIXES {
                state.remove(&mount.state_name(suffix));
            }
            // Fails, as it should, while there are files of other mounts.
            let _ = std::fs::remove_dir(&mount.state_dir);
        }
    }
}
