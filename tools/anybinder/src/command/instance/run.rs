// SPDX-License-Identifier: Apache-2.0
//! `anybinder run -- CMD`: an unmodified program that finds this mount at the default paths, and
//! these in libgbinder's configuration.
use super::gbinder_config::{self, Settings};
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::note;
use anybinder_mount::context::Context;
use anybinder_mount::namespace;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Lets programs of libgbinder find all devices in its configuration, which is that of the system
/// and what is missing there.
fn configure_gbinder(devices: &[String]) {
    let known = gbinder_config::texts().join("\n");
    let added = Settings::read(&known).additions(devices);
    let path = Path::new(gbinder_config::FILE);
    if added.is_empty() || !(path.exists() || gbinder_config::has_library()) {
        return;
    }
    let own = std::fs::read_to_string(path).unwrap_or_default();
    if let Err(err) = namespace::place_file(path, &(own + &added)) {
        note(format_args!(
            "anybinder: programs of libgbinder need {} with both paths of each device, and it \
             cannot be put there: {err}.",
            path.display()
        ));
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let mount = &context.mount;
    mount.check_served()?;
    let devices = mount.devices();
    if namespace::enter(mount)? {
        configure_gbinder(&devices);
    }
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
