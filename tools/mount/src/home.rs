// SPDX-License-Identifier: Apache-2.0
//! A home for as long as a command runs, in a temporary place of its own.
use crate::daemon::DaemonOptions;
use crate::instance::{self, InstanceOptions};
use crate::manager::ManagerOptions;
use crate::place::{Note, Place};
use crate::trouble::{Doing, Result};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Child, Command};

/// Whatever happens, dropping it takes it down.
pub struct Home {
    pub directory: PathBuf,
    pub place: Place,
    pub note: Option<Note>,
    pub service: Option<Child>,
}

/// This program once more, in another role, at a place.
pub fn role(place: &Place, role: &str) -> Result<Command> {
    let me = std::env::current_exe().doing(|| "finding this program".to_string())?;
    let mut command = Command::new(me);
    command.arg("--mount").arg(&place.mount).arg(role);
    Ok(command)
}

impl Home {
    pub fn new(purpose: &str) -> Result<Self> {
        let name = format!("anybinder-{purpose}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new()
            .mode(0o755)
            .create(&directory)
            .doing(|| format!("making {}", directory.display()))?;
        let place = Place::new(Some(directory.join("mount")), Some(directory.join("state")))?;
        Ok(Home {
            directory,
            place,
            note: None,
            service: None,
        })
    }

    /// Starts a daemon with these devices, and a service manager on `binder`.
    pub fn bring_up(&mut self, devices: &str) -> Result<Note> {
        let options = InstanceOptions {
            daemon: DaemonOptions {
                devices: devices.to_string(),
                mode: None,
                uid: None,
                gid: None,
                log_level: None,
                max_procs: None,
                regime: None,
            },
            managers: vec!["binder".to_string()],
            manager: ManagerOptions::default(),
        };
        let note = instance::bring_up(&self.place, &options)?;
        self.note = Some(note.clone());
        Ok(note)
    }

    pub fn role(&self, name: &str) -> Result<Command> {
        role(&self.place, name)
    }

    pub fn take_down(&mut self) -> Result<()> {
        if let Some(mut service) = self.service.take() {
            let _ = service.kill();
            let _ = service.wait();
        }
        let stopped = match self.note.take() {
            Some(note) => instance::take_down(&self.place, &note),
            None => Ok(()),
        };
        if stopped.is_ok() && self.directory.exists() {
            std::fs::remove_dir_all(&self.directory)
                .doing(|| format!("removing {}", self.directory.display()))?;
        }
        stopped
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.take_down();
    }
}
