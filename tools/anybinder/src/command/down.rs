// SPDX-License-Identifier: Apache-2.0
//! `anybinder down`: the service managers first, so that nothing they lose looks like a fault.
use anybinder_mount::context::Context;
use anybinder_mount::place::Served;
use anybinder_mount::trouble::{Result, Trouble};
use anybinder_mount::{daemon, instance};
use std::process::ExitCode;

pub fn run(context: &Context) -> Result<ExitCode> {
    let place = &context.place;
    let mount = place.mount.display().to_string();
    match (place.any_note(), place.served()) {
        (Some(note), _) => instance::take_down(place, &note)?,
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
