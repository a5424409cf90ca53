// SPDX-License-Identifier: Apache-2.0
//! `anybinder status`: what is running, from the mount and from the record of `up`.
use anybinder_mount::binderfs;
use anybinder_mount::context::Context;
use anybinder_mount::error::Result;
use anybinder_mount::mount::{Backend, Mount};
use anybinder_mount::record::Record;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// The exit status of init scripts for "not running".
const EXIT_NOT_UP: u8 = 3;
/// Something is up, but it does not do its work.
const EXIT_NOT_WORKING: u8 = 4;

#[derive(Serialize)]
struct Status {
    mount: PathBuf,
    up: bool,
    /// Up, it answers, and every service manager that `up` started runs.
    working: bool,
    /// `daemon`, `kernel`, `stale`, `stuck` or `nothing`
    served_by: &'static str,
    daemon: Option<DaemonStatus>,
    managers: Vec<ManagerStatus>,
    devices: Vec<String>,
    features: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct DaemonStatus {
    pid: u32,
    threads: Option<u32>,
    resident_kib: Option<u64>,
}

#[derive(Serialize)]
struct ManagerStatus {
    device: String,
    pid: u32,
    running: bool,
}

fn first_number<T: std::str::FromStr>(field: Option<String>) -> Option<T> {
    field?.split_whitespace().next()?.parse().ok()
}

fn look(mount: &Mount) -> Result<Status> {
    let backend = mount.backend();
    let record = Record::load_running(mount)?.map(|(record, _)| record);
    let managers: Vec<ManagerStatus> = record
        .iter()
        .flat_map(|record| &record.managers)
        .map(|manager| ManagerStatus {
            device: manager.device.clone(),
            pid: manager.process.pid,
            running: manager.running().is_some(),
        })
        .collect();
    let up = matches!(backend, Backend::Daemon | Backend::Kernel | Backend::Stuck);
    let stuck = backend == Backend::Stuck;
    Ok(Status {
        mount: mount.path.clone(),
        up,
        working: up && !stuck && managers.iter().all(|manager| manager.running),
        served_by: match backend {
            Backend::None => "nothing",
            Backend::Daemon => "daemon",
            Backend::DeadDaemon => "stale",
            Backend::Stuck => "stuck",
            Backend::Kernel => "kernel",
        },
        daemon: record.as_ref().map(|record| DaemonStatus {
            pid: record.daemon.pid,
            threads: first_number(record.daemon.status_field("Threads")),
            resident_kib: first_number(record.daemon.status_field("VmRSS")),
        }),
        managers,
        devices: match stuck {
            true => Vec::new(),
            false => mount.devices(),
        },
        features: match stuck {
            true => BTreeMap::new(),
            false => binderfs::features(mount),
        },
    })
}

fn print(status: &Status) {
    let mount = status.mount.display();
    match status.served_by {
        "daemon" => println!("{mount}: up, served by a daemon"),
        "kernel" => println!("{mount}: up, served by the kernel"),
        "stale" => println!("{mount}: the daemon is gone; `anybinder up` starts it again"),
        "stuck" => {
            println!("{mount}: the daemon does not answer; `anybinder down` clears the mount")
        }
        _ => println!("{mount}: nothing is up"),
    }
    if let Some(daemon) = &status.daemon {
        let threads = daemon.threads.unwrap_or(0);
        let resident = daemon.resident_kib.unwrap_or(0);
        println!(
            "daemon {}: {threads} threads, {resident} KiB resident",
            daemon.pid
        );
    }
    for manager in &status.managers {
        let state = match manager.running {
            true => "running",
            false => "gone; `anybinder up` starts it again",
        };
        println!(
            "service manager {} on {}: {state}",
            manager.pid, manager.device
        );
    }
    if !status.devices.is_empty() {
        println!("devices: {}", status.devices.join(" "));
    }
    let on: Vec<&str> = status
        .features
        .iter()
        .filter(|(_, value)| *value == "1")
        .map(|(name, _)| name.as_str())
        .collect();
    if !on.is_empty() {
        println!("features: {}", on.join(" "));
    }
}

pub fn run(context: &Context) -> Result<ExitCode> {
    let status = look(&context.mount)?;
    context.show(&status, print);
    Ok(match (status.up, status.working) {
        (false, _) => ExitCode::from(EXIT_NOT_UP),
        (true, false) => ExitCode::from(EXIT_NOT_WORKING),
        (true, true) => ExitCode::SUCCESS,
    })
}
