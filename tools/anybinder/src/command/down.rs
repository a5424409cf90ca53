// SPDX-License-Identifier: Apache-2.0
//! `anybinder down`: stops what `up` started.
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::mount::Backend;
use anybinder_mount::record::Record;
use anybinder_mount::{daemon, instance};
use std::process::ExitCode;

pub fn run(context: &Context) -> Result<ExitCode> {
    let mount = &context.mount;
    let path = mount.path.display().to_string();
    match (Record::load(mount)?, mount.backend()) {
        (Some(record), _) => instance::stop(mount, &record)?,
        (None, Backend::DeadDaemon) => daemon::unmount(mount)?,
        (None, Backend::None) => {
            return Err(Error::with_advice(
                format!("Nothing is up at {path}."),
                "Name the right directory with --mount.",
            ));
        }
        (None, Backend::Stuck) => {
            return Err(Error::with_advice(
                format!(
                    "The daemon of {path} does not answer, and you did not start it with \
                     `anybinder up`."
                ),
                format!(
                    "End it as the user who started it; clear the mount as root: \
                     umount -f -l {path}"
                ),
            ));
        }
        (None, _) => {
            return Err(Error::with_advice(
                format!("You did not start what is mounted at {path} with `anybinder up`."),
                "Stop it the way it was started: as that user, with `systemctl stop anybinderd`, \
                 or with `umount`.",
            ));
        }
    }
    context.show(&serde_json::json!({ "mount": path, "up": false }), |_| {
        println!("down at {path}");
    });
    Ok(ExitCode::SUCCESS)
}
