// SPDX-License-Identifier: Apache-2.0
//! `anybinder down`: stops what `up` started, and names the services that this cuts off.
use crate::command::services::list::Service;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::say;
use anybinder_mount::context::Context;
use anybinder_mount::mount::{Backend, Mount};
use anybinder_mount::record::Record;
use anybinder_mount::{daemon, daemon_processes, instance};
use serde::Serialize;
use std::process::{ExitCode, Stdio};

/// A service manager that was stopped by SIGSTOP must not keep `down` from ending it.
const LIST_TIMEOUT_S: &str = "3";

#[derive(Serialize)]
struct Down {
    mount: String,
    up: bool,
    /// The daemon was not started by `up`, and goes on.
    daemon_stays: bool,
    /// The services that were registered, without the service managers themselves.
    services: Vec<CutOff>,
}

#[derive(Serialize)]
struct CutOff {
    device: String,
    #[serde(flatten)]
    service: Service,
}

/// The services on a device, from another process: this one must not have a device open.
fn services(mount: &Mount, device: &str) -> Vec<Service> {
    let output = mount.own_command("list").and_then(|mut command| {
        command
            .args(["--json", "--timeout", LIST_TIMEOUT_S, "--device", device])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .map_err(|err| Error::new(err.to_string()))
    });
    let Ok(output) = output else {
        return Vec::new();
    };
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn cut_off(mount: &Mount, record: &Record) -> Vec<CutOff> {
    if !matches!(mount.backend(), Backend::Daemon | Backend::Kernel) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for manager in &record.managers {
        let pid = manager.serving().pid;
        let services = services(mount, &manager.device).into_iter();
        all.extend(
            services
                .filter(|service| u32::try_from(service.place.pid) != Ok(pid))
                .map(|service| CutOff {
                    device: manager.device.clone(),
                    service,
                }),
        );
    }
    all
}

/// The error for a mount that `up` did not start.
fn not_ours(mount: &Mount, backend: Backend) -> Error {
    let path = mount.path.display();
    if backend == Backend::Kernel {
        return Error::with_advice(
            format!("The kernel serves {path}; `anybinder up` did not start it."),
            match mount.is_binderfs() {
                true => format!("To unmount it, as root: umount {path}"),
                false => "Its devices exist as long as the driver is loaded.".to_string(),
            },
        );
    }
    let Some(daemon) = daemon_processes::serving(&mount.path) else {
        return Error::with_advice(
            format!("You did not start what is mounted at {path} with `anybinder up`."),
            "Stop it the way it was started: as that user, with `systemctl stop anybinderd`, \
             or with `umount`.",
        );
    };
    let advice = match daemon.started_by.strip_prefix("unit ") {
        Some(unit) => format!("Stop it with `systemctl stop {unit}`."),
        None => format!("Stop it as that user: kill {}", daemon.pid),
    };
    Error::with_advice(
        format!(
            "You did not start the daemon of {path} with `anybinder up`: it is process {} ({}).",
            daemon.pid, daemon.started_by
        ),
        advice,
    )
}

fn stop(mount: &Mount) -> Result<Down> {
    let path = mount.path.display().to_string();
    let mut down = Down {
        mount: path.clone(),
        up: false,
        daemon_stays: false,
        services: Vec::new(),
    };
    match (Record::load(mount)?, mount.backend()) {
        (Some(record), _) => {
            down.daemon_stays = record.daemon.is_none();
            down.services = cut_off(mount, &record);
            instance::stop(mount, &record)?;
        }
        (None, Backend::DeadDaemon) => daemon::unmount(mount)?,
        (None, Backend::None) => {
            return Err(Error::with_advice(
                format!("Nothing is up at {path}."),
                "Name the right directory with --mount.",
            )
            .of(Kind::NotUp));
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
            )
            .of(Kind::NotWorking));
        }
        (None, backend) => return Err(not_ours(mount, backend)),
    }
    Ok(down)
}

pub fn run(context: &Context) -> Result<ExitCode> {
    let down = stop(&context.mount)?;
    context.show(&down, |down| {
        for cut in &down.services {
            say(format_args!(
                "cut off: {} on {} (process {}, {})",
                cut.service.name, cut.device, cut.service.place.pid, cut.service.command
            ));
        }
        say(format_args!("down at {}", down.mount));
        if down.daemon_stays {
            say("the daemon goes on: `anybinder up` did not start it");
        }
    });
    Ok(ExitCode::SUCCESS)
}
