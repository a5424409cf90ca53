// SPDX-License-Identifier: Apache-2.0
//! The question that matters: whether the devices work for the user who asks. It is tried: each
//! device is opened and mapped, its service manager called, files passed and a death waited for, by
//! a process that is abandoned when it takes too long. Where nothing is served, a daemon is started
//! in a temporary directory and tried in the same way.
use super::finding::{Check, State};
use crate::command::instance::container::android;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::interrupt;
use anybinder_mount::device_check::{Depth, DeviceCheck, ManagerState, Passing, DEVICES_MAX};
use anybinder_mount::mount::{Backend, Mount};
use anybinder_mount::record::Record;
use anybinder_mount::temporary::TemporaryInstance;

const NAME: &str = "device";
/// Programs of all kinds look for it.
const FIRST_DEVICE: &str = "binder";

/// What came of it.
pub enum Tried {
    /// On the devices of the mount.
    Devices(Vec<DeviceCheck>),
    /// On a daemon that was started for it.
    Temporary(Result<Vec<DeviceCheck>>),
    /// What serves the mount is dead or does not answer.
    Broken(Error),
    /// The daemon cannot be started by this user.
    Nothing,
}

fn try_temporary() -> Result<Vec<DeviceCheck>> {
    interrupt::defer();
    let mut instance = TemporaryInstance::new("doctor")?;
    instance.start(FIRST_DEVICE)?;
    let answers = instance
        .mount
        .ask_each(&[FIRST_DEVICE.to_string()], Depth::Everything);
    instance.stop()?;
    interrupt::check()?;
    answers
}

/// * `can_start`: whether this user can start a daemon, as far as that is known
pub fn try_out(mount: &Mount, can_start: bool) -> Result<Tried> {
    if let Err(error) = mount.check_served() {
        return Ok(match error.kind() {
            Kind::NotUp if can_start => match try_temporary() {
                Err(error) if error.kind() == Kind::Interrupted => return Err(error),
                outcome => Tried::Temporary(outcome),
            },
            Kind::NotUp => Tried::Nothing,
            _ => Tried::Broken(error),
        });
    }
    Ok(Tried::Devices(mount.ask_each(
        &mount.devices_of_machine(),
        Depth::Everything,
    )?))
}

fn without_manager(mount: &Mount, device: &str) -> Check {
    let record = Record::load(mount).ok().flatten();
    let is_recorded = record.is_some_and(|record| {
        let mut managers = record.managers.iter();
        managers.any(|one| one.device == device)
    });
    if is_recorded {
        let text = format!("{device}: its service manager is dead: no service can be found");
        return Check::no(NAME, text, "`anybinder up` starts it again");
    }
    let text = format!("{device}: opened and mapped; it has no service manager");
    let advice = match device == FIRST_DEVICE {
        _ if android::brings_managers() => "Android in a container brings its own".to_string(),
        true => "`anybinder up` starts one".to_string(),
        false => format!(
            "nothing to do if no program uses it; else `anybinder servicemanager --device {device}`"
        ),
    };
    Check::limited(NAME, text, advice)
}

/// The line of a device.
fn check(mount: &Mount, one: &DeviceCheck) -> Check {
    let device = &one.device;
    let called = format!("{device}: opened and mapped; its service manager answers");
    match (one.state, &one.passing) {
        (ManagerState::Answers, Passing::Works) => {
            let text = format!("{called}; files were passed both ways, and a death was told");
            Check::ok(NAME, text)
        }
        (ManagerState::Answers, Passing::NotAsked) => Check::ok(NAME, called),
        (ManagerState::Answers, Passing::Refused(why)) => Check::ok(
            NAME,
            format!("{called}; files and deaths were not tried: {why}"),
        ),
        (ManagerState::Answers, Passing::Fails(why)) => Check::no(
            NAME,
            format!("{called}, but a file or a death does not arrive: {why}"),
            "see `ptrace` below, and the log of the daemon",
        ),
        (ManagerState::Silent, _) => Check::no(
            NAME,
            format!("{device}: its service manager does not answer"),
            "continue a service manager that is stopped (kill -CONT PID), or end it and run \
             `anybinder up`",
        ),
        (ManagerState::None, _) => without_manager(mount, device),
        (ManagerState::Denied | ManagerState::Unknown, _) => {
            let error = one.error.as_deref().unwrap_or("asking about it failed");
            let advice = one.advice.as_deref().unwrap_or("see `anybinder status`");
            Check::no(
                NAME,
                format!("{device}: {}", error.trim_end_matches('.')),
                advice.trim_end_matches('.'),
            )
        }
    }
}

impl Tried {
    pub fn devices(&self) -> &[DeviceCheck] {
        match self {
            Tried::Devices(devices) | Tried::Temporary(Ok(devices)) => devices,
            _ => &[],
        }
    }

    pub fn checks(&self, mount: &Mount) -> Vec<Check> {
        match self {
            Tried::Temporary(Ok(devices)) => {
                let tried = devices.iter().map(|one| check(mount, one));
                let named = |mut check: Check| {
                    check.name = "trial";
                    check.text = format!("of a daemon in a temporary directory: {}", check.text);
                    check
                };
                tried.map(named).collect()
            }
            Tried::Temporary(Err(error)) => vec![Check::no(
                "trial",
                format!("of a daemon in a temporary directory: {}", error.line()),
                "the lines below say what it needs",
            )],
            Tried::Devices(devices) => devices.iter().map(|one| check(mount, one)).collect(),
            Tried::Broken(_) | Tried::Nothing => Vec::new(),
        }
    }

    /// One sentence, and the exit status.
    ///
    /// * `kernel`: what the kernel could do, for a mount that is not served
    pub fn verdict(&self, mount: &Mount, kernel: &str) -> (String, Option<Kind>) {
        match self {
            Tried::Devices(devices) => verdict_of(mount, devices),
            Tried::Broken(error) => (error.line(), Some(Kind::NotWorking)),
            Tried::Temporary(Ok(devices)) if works(mount, devices) => (
                format!("the daemon works here: `anybinder up`; {kernel}"),
                None,
            ),
            Tried::Temporary(_) => (
                format!("the daemon does not work here: see `trial` above; {kernel}"),
                Some(Kind::Failed),
            ),
            Tried::Nothing => (
                format!("the daemon does not work here for this user; {kernel}"),
                Some(Kind::Failed),
            ),
        }
    }
}

fn is_bad(mount: &Mount, one: &DeviceCheck) -> bool {
    check(mount, one).state == State::No
}

fn works(mount: &Mount, devices: &[DeviceCheck]) -> bool {
    !devices.iter().any(|one| is_bad(mount, one))
}

fn names(devices: &[&DeviceCheck]) -> String {
    let names: Vec<&str> = devices.iter().map(|one| one.device.as_str()).collect();
    names.join(", ")
}

fn verdict_of(mount: &Mount, devices: &[DeviceCheck]) -> (String, Option<Kind>) {
    let path = mount.path.display();
    let denied: Vec<&DeviceCheck> = devices
        .iter()
        .filter(|one| one.state == ManagerState::Denied)
        .collect();
    let bad: Vec<&DeviceCheck> = devices.iter().filter(|one| is_bad(mount, one)).collect();
    if devices.is_empty() {
        return (
            format!("{path} has no device: start what serves it with --devices"),
            Some(Kind::NotWorking),
        );
    }
    if let Some(one) = denied.first().filter(|_| bad.len() == denied.len()) {
        let advice = one.advice.as_deref().unwrap_or_default();
        let text = format!("you may not open {}: {advice}", names(&denied));
        return (text, Some(Kind::Denied));
    }
    if !bad.is_empty() {
        return (
            format!(
                "what was tried on {} of {path} fails: see above",
                names(&bad)
            ),
            Some(Kind::NotWorking),
        );
    }
    let who = match mount.backend() {
        Backend::Kernel => "the kernel's driver",
        _ => "the daemon",
    };
    let all: Vec<&DeviceCheck> = devices.iter().collect();
    let more = match mount.devices_of_machine().len() > DEVICES_MAX {
        true => ", and no others",
        false => "",
    };
    let has_none = |one: &&DeviceCheck| one.state == ManagerState::None;
    let managers = match devices
        .iter()
        .filter(has_none)
        .any(|one| one.device == FIRST_DEVICE)
    {
        true if android::brings_managers() => "; Android in a container brings service managers",
        true => "; `anybinder up` starts the service manager that is missing on binder",
        false => "",
    };
    let text = format!("{who} works here, tried on {}{more}{managers}", names(&all));
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn mount() -> Mount {
        let nowhere = Some(PathBuf::from("/nonexistent/state"));
        Mount::new(Some(PathBuf::from("/nonexistent/mount")), nowhere).unwrap()
    }

    fn device(name: &str, state: ManagerState, passing: Passing) -> DeviceCheck {
        DeviceCheck {
            passing,
            ..DeviceCheck::new(name.to_string(), state)
        }
    }

    fn kind(devices: &[DeviceCheck]) -> Option<Kind> {
        verdict_of(&mount(), devices).1
    }

    #[test]
    fn the_verdict_follows_from_what_was_tried() {
        let works = device("binder", ManagerState::Answers, Passing::Works);
        let none = device("vndbinder", ManagerState::None, Passing::NotAsked);
        let denied = device("binder", ManagerState::Denied, Passing::NotAsked);
        let silent = device("binder", ManagerState::Silent, Passing::NotAsked);
        let fails = Passing::Fails("it was not told".to_string());
        let fails = device("binder", ManagerState::Answers, fails);
        assert_eq!(kind(&[works.clone(), none.clone()]), None);
        assert_eq!(kind(&[denied.clone(), none.clone()]), Some(Kind::Denied));
        assert_eq!(kind(&[denied, silent]), Some(Kind::NotWorking));
        assert_eq!(kind(&[works, fails]), Some(Kind::NotWorking));
        assert_eq!(kind(&[]), Some(Kind::NotWorking));
    }
}
