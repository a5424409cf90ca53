// SPDX-License-Identifier: Apache-2.0
//! `anybinder up`: the daemon, then a service manager on each wanted device.
use crate::daemon::{self, DaemonOptions};
use crate::manager::{self, ManagerOptions};
use crate::place::{Note, Place};
use crate::trouble::Result;
use crate::Context;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
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
pub fn bring_up(place: &Place, arguments: &Arguments) -> Result<Note> {
    // A note without a daemon is what a crash left: a dead mount, managers that serve nobody.
    if let Some(note) = place.any_note().filter(|note| !note.daemon.is_running()) {
        super::down::take_down(place, &note)?;
    }
    let started = daemon::start(place, &arguments.daemon).inspect_err(|_| {
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
    let outcome =
        start_managers(place, arguments, &mut note).and_then(|()| place.write_note(&note));
    if let Err(trouble) = outcome {
        // The first trouble is the one to tell.
        let _ = super::down::take_down(place, &note);
        return Err(trouble);
    }
    Ok(note)
}

fn start_managers(place: &Place, arguments: &Arguments, note: &mut Note) -> Result<()> {
    for device in arguments
        .managers
        .iter()
        .filter(|device| !device.is_empty())
    {
        let manager = manager::start(place, device, &arguments.manager)?;
        note.managers.push(manager);
    }
    Ok(())
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let note = bring_up(&context.place, arguments)?;
    context.show(&note, |note| {
        println!("up at {}: daemon {}", note.mount.display(), note.daemon.pid);
        for manager in &note.managers {
            println!(
                "service manager {} on {}",
                manager.process.pid, manager.device
            );
        }
        if note.private {
            println!("only programs started with `anybinder run -- CMD` see it");
        }
    });
    Ok(ExitCode::SUCCESS)
}
