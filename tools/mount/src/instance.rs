// SPDX-License-Identifier: Apache-2.0
//! A daemon and its service managers, brought up and taken down together.
use crate::daemon::{self, DaemonOptions};
use crate::manager::{self, ManagerOptions};
use crate::place::{Note, Place};
use crate::trouble::Result;
use std::time::Duration;

const STOP_PATIENCE: Duration = Duration::from_secs(5);

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

/// Brings a place up. Either everything is up afterwards, or nothing is.
pub fn bring_up(place: &Place, options: &InstanceOptions) -> Result<Note> {
    // A note without a daemon is what a crash left: a dead mount, managers that serve nobody.
    if let Some(note) = place.any_note().filter(|note| !note.daemon.is_running()) {
        take_down(place, &note)?;
    }
    let started = daemon::start(place, &options.daemon).inspect_err(|_| {
        if place.note().is_none() {
            place.forget();
        }
    })?;
    let mut note = Note {
        mount: place.mount.clone(),
        daemon: started.process,
        managers: Vec::new(),
        private: started.private,
        made_directory: started.made_directory,
    };
    let outcome = start_managers(place, options, &mut note).and_then(|()| place.write_note(&note));
    if let Err(trouble) = outcome {
        // The first trouble is the one to tell.
        let _ = take_down(place, &note);
        return Err(trouble);
    }
    Ok(note)
}

fn start_managers(place: &Place, options: &InstanceOptions, note: &mut Note) -> Result<()> {
    for device in options.managers.iter().filter(|device| !device.is_empty()) {
        let manager = manager::start(place, device, &options.manager)?;
        note.managers.push(manager);
    }
    Ok(())
}

/// Stops everything that the note names and removes every trace of it.
pub fn take_down(place: &Place, note: &Note) -> Result<()> {
    for manager in &note.managers {
        manager.process.stop(STOP_PATIENCE)?;
    }
    daemon::stop(place, &note.daemon)?;
    if note.made_directory {
        // Stays if somebody put something there.
        let _ = std::fs::remove_dir(&place.mount);
    }
    place.forget();
    Ok(())
}
