// SPDX-License-Identifier: Apache-2.0
//! What `up` writes down for later commands: the processes it started and what it made.
//!
//! The record is a small JSON file in the state directory. Everything that can be seen from the
//! mount itself is looked at there, never in the record: a mount whose daemon was started by
//! systemd, or that the kernel serves, has no record at all.
use crate::error::{Doing, Result};
use crate::mount::Mount;
use crate::process::Process;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Files of the state directory that belong to one mount.
const SUFFIXES: [&str; 4] = [RECORD, "pid", "daemon.log", "manager.log"];
const RECORD: &str = "json";

/// One service manager and the device whose context it manages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manager {
    pub device: String,
    pub process: Process,
}

/// A daemon that `up` started, and its service managers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub mount: PathBuf,
    pub daemon: Process,
    pub managers: Vec<Manager>,
    /// The mount is in namespaces of the daemon, made by a user without privileges.
    pub private: bool,
    /// `up` made the mount directory, so `down` removes it.
    pub made_directory: bool,
}

impl Record {
    /// The record of a mount, whether or not its daemon still runs; None if there is none.
    pub fn load(mount: &Mount) -> Option<Record> {
        let text = std::fs::read_to_string(mount.state_file(RECORD)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The record of a mount whose daemon still runs.
    pub fn load_running(mount: &Mount) -> Option<Record> {
        Record::load(mount).filter(|record| record.daemon.is_running())
    }

    /// Writes the record; the state directory must exist.
    pub fn save(&self, mount: &Mount) -> Result<()> {
        let path = mount.state_file(RECORD);
        let doing = || format!("writing {}", path.display());
        let text = serde_json::to_string_pretty(self).doing(doing)?;
        std::fs::write(&path, text + "\n").doing(doing)
    }

    /// Removes the record and the log files of a mount; missing ones are no error.
    pub fn remove(mount: &Mount) {
        for suffix in SUFFIXES {
            let _ = std::fs::remove_file(mount.state_file(suffix));
        }
        // Fails, as it should, while there are files of other mounts.
        let _ = std::fs::remove_dir(&mount.state_dir);
    }
}
