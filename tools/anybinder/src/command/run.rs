// SPDX-License-Identifier: Apache-2.0
//! `anybinder run -- CMD`: an unmodified program that finds this mount at the usual paths.
use anybinder_mount::context::Context;
use anybinder_mount::namespace;
use anybinder_mount::place::{Served, DEFAULT_MOUNT};
use anybinder_mount::trouble::{Result, Trouble};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let place = &context.place;
    match place.served() {
        Served::Daemon | Served::Kernel => {}
        Served::Not => {
            return Err(Trouble::with_advice(
                format!("Nothing is mounted at {}.", place.mount.display()),
                "Bring it up with `anybinder up`, or name the right directory with --mount.",
            ));
        }
        Served::Stale => {
            return Err(Trouble::with_advice(
                format!("The daemon of {} is gone.", place.mount.display()),
                "Start it again with `anybinder up`.",
            ));
        }
    }
    namespace::enter(place)?;
    let (program, rest) = arguments.command.split_first().expect("clap wants one");
    // In there the mount is at the usual path, and no note of ours is about that one.
    let err = Command::new(program)
        .args(rest)
        .env("ANYBINDER_MOUNT", DEFAULT_MOUNT)
        .env("ANYBINDER_STATE_DIR", place.state_file("inside"))
        .exec();
    Err(Trouble::new(format!(
        "{} cannot be started: {err}.",
        program.to_string_lossy()
    )))
}
