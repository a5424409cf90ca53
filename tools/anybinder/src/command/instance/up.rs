// SPDX-License-Identifier: Apache-2.0
//! `anybinder up`: the daemon, then a service manager on each wanted device.
use anybinder_cli::error::Result;
use anybinder_cli::output::say;
use anybinder_mount::context::Context;
use anybinder_mount::daemon_processes;
use anybinder_mount::instance::{self, InstanceOptions, Started};
use anybinder_mount::mount::{Backend, Mount, DEFAULT_PATH};
use anybinder_mount::namespace::is_in_run;
use anybinder_mount::record::Record;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

#[derive(Serialize)]
struct Up {
    #[serde(flatten)]
    record: Record,
    /// The daemon was up before, started by an earlier `anybinder up`.
    again: bool,
    /// What serves the mount was started by another command.
    adopted: bool,
}

/// What serves a mount that `up` did not start.
fn served_by(mount: &Mount) -> String {
    if mount.backend() == Backend::Kernel {
        return "the kernel".to_string();
    }
    daemon_processes::serving(&mount.path).map_or("a daemon".to_string(), |daemon| {
        format!("daemon {} ({})", daemon.pid, daemon.started_by)
    })
}

fn print(mount: &Mount, up: &Up) {
    let path = mount.path.display();
    if up.adopted {
        say(format_args!(
            "{path} is served already, by {}: used as it is",
            served_by(mount)
        ));
    } else {
        let word = if up.again { "already up" } else { "up" };
        say(format_args!(
            "{word} at {path}: daemon {}",
            up.record.daemon_pid()
        ));
    }
    for manager in &up.record.managers {
        say(format_args!(
            "service manager {} on {}",
            manager.process.pid, manager.device
        ));
    }
    if up.adopted && up.record.managers.is_empty() {
        say("nothing was started: the service managers run, too");
    }
    let is_found = Path::new("/dev/binder").symlink_metadata().is_ok();
    if !up.record.private && !is_found && !is_in_run() {
        say("programs that look for /dev/binder: start them with `anybinder run -- CMD`");
    }
    if up.record.private {
        say("only programs started with `anybinder run -- CMD` see it");
        if Mount::is_system_mounted() {
            say(format_args!(
                "until `anybinder down`, your commands use this mount and not the system's, {}",
                DEFAULT_PATH
            ));
        }
    }
}

pub fn run(context: &Context, options: &InstanceOptions) -> Result<ExitCode> {
    let (mut record, started) = instance::start(&context.mount, options)?;
    for manager in &mut record.managers {
        manager.process = manager.serving();
    }
    let up = Up {
        record,
        again: started == Started::Again,
        adopted: started == Started::Beside,
    };
    context.show(&up, |up| print(&context.mount, up));
    Ok(ExitCode::SUCCESS)
}
