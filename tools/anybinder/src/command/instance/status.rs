// SPDX-License-Identifier: Apache-2.0
//! `anybinder status`: what is running, whichever command started it, and what to do about what is
//! not. A dead service manager counts as much as a dead daemon.
use crate::command::instance::container::android;
use anybinder_cli::error::{Kind, Result};
use anybinder_cli::output::say;
use anybinder_client::place::Place;
use anybinder_mount::binderfs::ProcessStats;
use anybinder_mount::context::Context;
use anybinder_mount::daemon_processes::{self, Part, Role};
use anybinder_mount::device_check::{Depth, DeviceCheck, ManagerState, DEVICES_MAX};
use anybinder_mount::generation::Generation;
use anybinder_mount::mount::{pod_of, Backend, Mount};
use anybinder_mount::process::{command_name, Process, SERVICE_MANAGER};
use anybinder_mount::record::Record;
use anybinder_mount::{binderfs, device_access};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;

/// Who started a process that the record names.
const BY_UP: &str = "anybinder up";

#[derive(Serialize)]
struct Status {
    mount: PathBuf,
    up: bool,
    /// Up, it answers, and no service manager has died or is silent.
    working: bool,
    /// `daemon`, `kernel`, `stale`, `stuck`, `detached` (a daemon runs, and nothing is mounted) or
    /// `nothing`
    served_by: &'static str,
    daemon: Option<DaemonStatus>,
    /// The generation of a daemon that can be replaced while it serves, if this user may know.
    generation: Option<Generation>,
    managers: Vec<ManagerStatus>,
    /// The processes that stand before services.
    disturbed: Vec<Place>,
    devices: Vec<String>,
    features: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct DaemonStatus {
    pid: u32,
    started_by: String,
    threads: Option<u64>,
    resident_kib: Option<u64>,
    processes: Vec<Part>,
}

/// A service manager that was recorded or that answers.
#[derive(Serialize)]
struct ManagerStatus {
    device: String,
    pid: Option<u32>,
    command: Option<String>,
    started_by: Option<String>,
    /// `answers`, `silent`, `dead`, `denied` (this user may not ask) or `unknown`
    state: &'static str,
    /// None if that is not known.
    running: Option<bool>,
    /// What a dead service manager and its keeper said.
    log: Option<PathBuf>,
}

fn daemon_status(process: &Process, started_by: String) -> DaemonStatus {
    DaemonStatus {
        pid: process.pid,
        started_by,
        threads: process.status_sum("Threads"),
        resident_kib: process.status_sum("VmRSS"),
        processes: daemon_processes::parts(process),
    }
}

/// The daemon of the record, or the one that another command started.
fn look_at_daemon(
    mount: &Mount,
    backend: Backend,
    record: Option<&Record>,
) -> Option<DaemonStatus> {
    let recorded = record.and_then(|record| record.running().and(record.daemon.as_ref()));
    if let Some(process) = recorded {
        return Some(daemon_status(process, BY_UP.to_string()));
    }
    if matches!(backend, Backend::DeadDaemon | Backend::Kernel) {
        return None;
    }
    let found = daemon_processes::serving(&mount.path)?;
    Some(daemon_status(&Process::now(found.pid)?, found.started_by))
}

/// What the mount's reports say of processes with an open device; None if they are not here, as in
/// a pod.
struct Users(Option<Vec<ProcessStats>>);

impl Users {
    /// Whether a process may have the device open.
    fn have(&self, device: &str) -> bool {
        let rows = self.0.as_ref();
        rows.is_none_or(|rows| rows.iter().any(|row| row.context == device))
    }

    /// The pid that a service manager gave, if it means the same here: that of a pod is another in
    /// the pod.
    fn seen(&self, device: &str, pid: u32) -> Option<u32> {
        let is_seen = match &self.0 {
            Some(rows) => rows
                .iter()
                .any(|row| row.pid == pid && row.context == device),
            None => command_name(pid) == SERVICE_MANAGER,
        };
        is_seen.then_some(pid)
    }
}

/// Asks about some devices of the machine, and about all of pods that are in use.
fn ask(mount: &Mount, devices: &[String], users: &Users) -> Result<Vec<DeviceCheck>> {
    let is_of_pod = |device: &&String| pod_of(device).is_some();
    let (of_pods, of_machine): (Vec<_>, Vec<_>) = devices.iter().partition(is_of_pod);
    let of_machine = of_machine.into_iter().take(DEVICES_MAX);
    let of_pods = of_pods.into_iter().filter(|device| users.have(device));
    let asked: Vec<String> = of_machine.chain(of_pods).cloned().collect();
    let mut checks = Vec::new();
    for some in asked.chunks(DEVICES_MAX) {
        checks.extend(mount.ask_each(some, Depth::Manager)?);
    }
    Ok(checks)
}

/// The service managers: those that answer, and those of the record.
fn look_at_managers(
    mount: &Mount,
    devices: &[String],
    record: Option<&Record>,
) -> Result<Vec<ManagerStatus>> {
    let recorded = record.map_or(&[][..], |record| &record.managers);
    let mut managers = Vec::new();
    let users = Users(match devices.is_empty() {
        true => None,
        false => binderfs::process_stats(mount).ok(),
    });
    for check in ask(mount, devices, &users)? {
        let ours = recorded.iter().find(|one| one.device == check.device);
        let state = match (check.state, ours) {
            (ManagerState::Answers, _) => "answers",
            (ManagerState::Silent, _) => "silent",
            (_, Some(manager)) if manager.running().is_none() => "dead",
            (ManagerState::Denied, _) => "denied",
            (ManagerState::Unknown, _) => "unknown",
            (ManagerState::None, Some(_)) => "silent",
            (ManagerState::None, None) => continue,
        };
        let given = check.pid.and_then(|pid| users.seen(&check.device, pid));
        let pid = ours.map(|manager| manager.serving().pid).or(given);
        managers.push(ManagerStatus {
            pid,
            command: pid.filter(|_| state != "dead").map(command_name),
            started_by: match ours {
                Some(_) => Some(BY_UP.to_string()),
                None => pid.map(daemon_processes::started_by),
            },
            running: match state {
                "dead" => Some(false),
                "answers" | "silent" => Some(true),
                _ => ours.map(|_| true),
            },
            log: (state == "dead").then(|| mount.state_file("manager.log")),
            device: check.device,
            state,
        });
    }
    Ok(managers)
}

/// What `anybinder disturb` does at the mount, so that nobody forgets it.
fn disturbed(mount: &Mount) -> Vec<Place> {
    let users = binderfs::process_stats(mount).unwrap_or_default();
    let pids: BTreeSet<u32> = users.iter().map(|one| one.pid).collect();
    let places = pids.into_iter().map(|pid| Place::of_process(pid as i32));
    places.filter(|place| place.disturbed.is_some()).collect()
}

fn look(mount: &Mount) -> Result<Status> {
    let backend = mount.backend();
    let record = Record::load(mount)?;
    let up = matches!(backend, Backend::Daemon | Backend::Kernel | Backend::Stuck);
    let answers = up && backend != Backend::Stuck;
    let devices = match answers {
        true => mount.devices(),
        false => Vec::new(),
    };
    let managers = look_at_managers(mount, &devices, record.as_ref())?;
    let has_died = record.as_ref().is_some_and(Record::has_died);
    let daemon = match backend {
        // A process that is still found is what remains of the daemon.
        Backend::None if has_died => None,
        _ => look_at_daemon(mount, backend, record.as_ref()),
    };
    let is_fine = |manager: &ManagerStatus| !matches!(manager.state, "dead" | "silent");
    Ok(Status {
        mount: mount.path.clone(),
        up,
        working: answers && managers.iter().all(is_fine),
        served_by: match backend {
            Backend::None if has_died => "stale",
            Backend::None if daemon.is_some() => "detached",
            Backend::None => "nothing",
            Backend::Daemon => "daemon",
            Backend::DeadDaemon => "stale",
            Backend::Stuck => "stuck",
            Backend::Kernel => "kernel",
        },
        daemon,
        generation: match answers {
            true => Generation::load(mount).unwrap_or_default(),
            false => None,
        },
        managers,
        disturbed: match answers {
            true => disturbed(mount),
            false => Vec::new(),
        },
        features: match answers {
            true => binderfs::features(mount),
            false => BTreeMap::new(),
        },
        devices,
    })
}

fn print_manager(manager: &ManagerStatus) {
    let device = &manager.device;
    let pid = manager.pid.map_or(String::new(), |pid| format!(" {pid}"));
    let by = manager.started_by.as_ref();
    let by = by.map_or(String::new(), |by| format!(", started by {by}"));
    match manager.state {
        "answers" => say(format_args!(
            "service manager{pid} on {device}: running{by}"
        )),
        "denied" if manager.running.is_some() => say(format_args!(
            "service manager{pid} on {device}: running, but you may not open the device{by}"
        )),
        "denied" => {}
        "unknown" => say(format_args!(
            "service manager{pid} on {device}: not known, asking failed{by}"
        )),
        "dead" => say(format_args!(
            "THE SERVICE MANAGER{pid} OF {device} IS DEAD: no service can be found; \
             `anybinder up` starts it again{}",
            manager.log.as_ref().map_or(String::new(), |log| format!(
                "; what it said is in {}",
                log.display()
            ))
        )),
        _ => say(format_args!(
            "THE SERVICE MANAGER{pid} OF {device} DOES NOT ANSWER{by}: no service can be found; \
             continue it (kill -CONT PID) or end it, then `anybinder up`"
        )),
    }
}

fn print_managers(status: &Status) {
    let is_usual = |one: &&ManagerStatus| one.state == "answers" && pod_of(&one.device).is_some();
    let (of_pods, others): (Vec<_>, Vec<_>) = status.managers.iter().partition(is_usual);
    others.into_iter().for_each(print_manager);
    if !of_pods.is_empty() {
        let devices: Vec<&str> = of_pods.iter().map(|one| one.device.as_str()).collect();
        say(format_args!(
            "service managers of pods, running: {}",
            devices.join(" ")
        ));
    }
    let is_hidden = |one: &&ManagerStatus| one.state == "denied" && one.running.is_none();
    let hidden: Vec<&str> = status
        .managers
        .iter()
        .filter(is_hidden)
        .map(|one| one.device.as_str())
        .collect();
    if let Some(first) = hidden.first() {
        say(format_args!(
            "you may not open {}: whether service managers run there is not known. {}",
            hidden.join(", "),
            device_access::advice(&status.mount.join(first))
        ));
    }
    let has = |device: &str| status.managers.iter().any(|one| one.device == device);
    if status.devices.iter().any(|device| device == "binder") && !has("binder") {
        let who = match android::brings_managers() {
            true => "Android in a container brings one",
            false => "`anybinder up` starts one",
        };
        say(format_args!("no service manager on binder; {who}"));
    }
}

/// Nothing of a daemon that is as it was started.
fn print_generation(now: &Generation) {
    if now.generation > 1 {
        say(format_args!(
            "server {}: version {}, number {} since the daemon was started, after {} crashes",
            now.server, now.version, now.generation, now.crashes
        ));
    }
    if let (Some(reason), "refused" | "too-long" | "failed") = (&now.reason, now.last.as_str()) {
        say(format_args!(
            "the last hand-over to another server did not take place: {reason}"
        ));
    }
}

/// A process of the daemon, and what stopping it does.
fn print_part(part: &Part) {
    let pid = part.pid;
    let text = match part.role {
        Role::Supervisor => format!("supervisor {pid}: `kill {pid}` ends the daemon and unmounts"),
        Role::Server => format!(
            "server {pid}: when it is killed, the supervisor starts another, and programs have to \
             open their devices again"
        ),
    };
    let stopped = match part.is_stopped {
        true => format!("; IT IS STOPPED until `kill -CONT {pid}`"),
        false => String::new(),
    };
    say(format_args!("  {text}{stopped}"));
}

impl Status {
    /// The server of the daemon, if it is stopped.
    fn stopped(&self) -> Option<u32> {
        let mut processes = self.daemon.iter().flat_map(|one| &one.processes);
        let stopped = processes.find(|part| part.role == Role::Server && part.is_stopped);
        stopped.map(|part| part.pid)
    }
}

fn print_devices(devices: &[String]) {
    let of_machine: Vec<&str> = devices
        .iter()
        .filter(|device| pod_of(device).is_none())
        .map(String::as_str)
        .collect();
    let pods: BTreeSet<&str> = devices.iter().filter_map(|device| pod_of(device)).collect();
    if !of_machine.is_empty() {
        say(format_args!("devices: {}", of_machine.join(" ")));
    }
    if !pods.is_empty() {
        let count = devices.len() - of_machine.len();
        say(format_args!(
            "for pods: {} contexts with {count} devices",
            pods.len()
        ));
    }
}

fn print(status: &Status) {
    let mount = status.mount.display();
    match status.served_by {
        "daemon" => say(format_args!("{mount}: up, served by a daemon")),
        "kernel" => say(format_args!("{mount}: up, served by the kernel")),
        "stale" => say(format_args!(
            "THE DAEMON OF {mount} IS DEAD: every open device fails; `anybinder up` starts it again"
        )),
        "stuck" if status.stopped().is_some() => say(format_args!(
            "THE DAEMON OF {mount} DOES NOT ANSWER: it is stopped, and goes on after \
             `kill -CONT {}`; `anybinder down` ends it",
            status.stopped().unwrap_or_default()
        )),
        "stuck" => say(format_args!(
            "THE DAEMON OF {mount} DOES NOT ANSWER: `anybinder down` clears the mount; of another \
             user's daemon, as root: umount -f -l {mount}"
        )),
        "detached" => say(format_args!(
            "NOTHING IS MOUNTED AT {mount}, but a daemon runs for it: it starts or ends just now, \
             or it was unmounted under its clients (umount -l), which go on by themselves. End it \
             with `anybinder down`, or with `kill PID` if `anybinder up` did not start it; then \
             `anybinder up`"
        )),
        _ => say(format_args!(
            "{mount}: nothing is up; `anybinder up` starts a daemon"
        )),
    }
    if let Some(daemon) = &status.daemon {
        let threads = daemon.threads.unwrap_or(0);
        let resident = daemon.resident_kib.unwrap_or(0);
        say(format_args!(
            "daemon {}: {threads} threads, {resident} KiB resident, started by {}",
            daemon.pid, daemon.started_by
        ));
        daemon.processes.iter().for_each(print_part);
    }
    if let Some(generation) = &status.generation {
        print_generation(generation);
    }
    if matches!(status.served_by, "daemon" | "kernel") {
        print_managers(status);
    }
    for place in &status.disturbed {
        say(format_args!("process {}{}", place.pid, place.suffix()));
    }
    print_devices(&status.devices);
    let on: Vec<&str> = status
        .features
        .iter()
        .filter(|(_, value)| *value == "1")
        .map(|(name, _)| name.as_str())
        .collect();
    if !on.is_empty() {
        say(format_args!("features: {}", on.join(" ")));
    }
}

pub fn run(context: &Context) -> Result<ExitCode> {
    let status = look(&context.mount)?;
    context.show(&status, print);
    Ok(match (status.served_by, status.working) {
        ("nothing", _) => ExitCode::from(Kind::NotUp.exit_status()),
        (_, false) => ExitCode::from(Kind::NotWorking.exit_status()),
        (_, true) => ExitCode::SUCCESS,
    })
}
