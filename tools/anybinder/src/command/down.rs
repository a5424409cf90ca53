// SPDX-License-Identifier: Apache-2.0
//! `anybinder down`: the service managers first, so that nothing they lose looks like a fault.
use crate::daemon;
use crate::place::{Note, Place, Served};
use crate::trouble::{Result, Trouble};
use crate::Context;
use std::process::ExitCode;
use std::time::Duration;

const STOP_PATIENCE: Duration = Duration::from_secs(5);

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

pub fn run(context: &Context) -> Result<ExitCode> {
    let place = &context.place;
    let mount = place.mount.display().to_string();
    match (place.any_note(), place.served()) {
        (Some(note), _) => take_down(place, &note)?,
        (None, Served::Stale) => daemon::clear_stale(place)?,
        (None, Served::Not) => {
            return Err(Trouble::with_advice(
                format!("Nothing is up at {mount}."),
                "Name the right directory with --mount.",
            ));
        }
        (None, _) => {
            return Err(Trouble::with_advice(
                format!("You did not start what is mounted at {mount} with `anybinder up`."),
                "Stop it the way it was started: as that user, with `systemctl stop anybinderd`, \
                 or with `umount`.",
            ));
        }
    }
    context.show(&serde_json::json!({ "mount": mount, "up": false }), |_| {
        println!("down at {mount}");
    });
    Ok(ExitCode::SUCCESS)
}
