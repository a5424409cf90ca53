// SPDX-License-Identifier: Apache-2.0
//! `anybinder run -- CMD`: an unmodified program that finds this mount at the default paths.
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_mount::context::Context;
use anybinder_mount::namespace;
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
    let mount = &context.mount;
    mount.check_served()?;
    namespace::enter(mount)?;
    let (program, rest) = arguments.command.split_first().expect("clap requires one");
    // Inside, the mount is at the default path, about which there are no records.
    let err = Command::new(program)
        .args(rest)
        .env("ANYBINDER_MOUNT", namespace::path_inside(mount))
        .env(
            namespace::STATE_DIR_VARIABLE,
            namespace::state_dir_inside(mount),
        )
        .exec();
    let kind = match err.kind() {
        std::io::ErrorKind::NotFound => Kind::NotFound,
        _ => Kind::CannotRun,
    };
    let program = program.to_string_lossy();
    Err(Error::new(format!("{program} cannot be started: {err}.")).of(kind))
}
