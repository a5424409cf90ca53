// SPDX-License-Identifier: Apache-2.0
//! What the user who asks finds on each device: whether it can be opened and mapped, whether a
//! service manager answers, whichever program it is, and whether files and deaths arrive.
//!
//! A process can open one device, and a service manager that is stopped never answers, so that each
//! device is asked about by a process of its own (`anybinder device-check`), with a time limit.
use crate::mount::Mount;
use crate::record::Record;
use anybinder_cli::error::{self, Doing, Kind, Result};
use serde::{Deserialize, Serialize};
use std::process::{Child, Output, Stdio};

/// A mount may have hundreds of devices; no more than these are asked about.
pub const DEVICES_MAX: usize = 16;

/// How much is asked, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Whether a service manager answers.
    Manager,
    /// And whether files and deaths arrive, which takes a service of one's own.
    Everything,
}

impl Depth {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Depth::Manager => &["--timeout", "5"],
            Depth::Everything => &["--timeout", "30", "--everything"],
        }
    }
}

/// What was found on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ManagerState {
    Answers,
    /// There is one, but it does not answer.
    Silent,
    None,
    /// This user may not open the device: there may be one.
    Denied,
    /// The question failed.
    Unknown,
}

/// Whether files and deaths arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Passing {
    /// Not asked, or there is no service manager by which two processes could meet.
    #[default]
    NotAsked,
    Works,
    /// The service manager takes no service of this user: why.
    Refused(String),
    Fails(String),
}

/// A device and its service manager.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceCheck {
    pub device: String,
    pub state: ManagerState,
    /// The process of the service manager, if it registered itself as Android's does, and may be
    /// listed.
    pub pid: Option<u32>,
    #[serde(default)]
    pub passing: Passing,
    /// Why the question failed, and what to do.
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    pub advice: Option<String>,
}

impl DeviceCheck {
    pub fn new(device: String, state: ManagerState) -> Self {
        DeviceCheck {
            device,
            state,
            pid: None,
            passing: Passing::NotAsked,
            error: None,
            advice: None,
        }
    }
}

impl Mount {
    /// Asks about one device whether a service manager answers.
    pub fn ask(&self, device: &str) -> Result<ManagerState> {
        let answers = self.ask_each(&[device.to_string()], Depth::Manager)?;
        Ok(answers
            .first()
            .map_or(ManagerState::Unknown, |one| one.state))
    }

    /// Asks about each of the first DEVICES_MAX devices, about all at the same time. A service
    /// manager of the record that is stopped does not answer, and is not asked.
    pub fn ask_each(&self, devices: &[String], depth: Depth) -> Result<Vec<DeviceCheck>> {
        let record = Record::load(self)?;
        let managers = record.map_or(Vec::new(), |record| record.managers);
        let is_stopped = |device: &str| {
            let mut managers = managers.iter();
            managers.any(|one| one.device == device && one.serving().is_stopped())
        };
        let start = |device: &String| -> Result<(String, Option<Child>)> {
            let child = match is_stopped(device) {
                true => None,
                false => Some(self.start_check(device, depth)?),
            };
            Ok((device.clone(), child))
        };
        let devices = devices.iter().take(DEVICES_MAX);
        let children = devices.map(start).collect::<Result<Vec<_>>>()?;
        children
            .into_iter()
            .map(|(device, child)| match child {
                None => Ok(DeviceCheck::new(device, ManagerState::Silent)),
                Some(child) => Ok(answer(device, &child.wait_with_output().doing(asking)?)),
            })
            .collect()
    }

    fn start_check(&self, device: &str, depth: Depth) -> Result<Child> {
        self.own_command("device-check")?
            .args(["--json", "--device", device])
            .args(depth.arguments())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .doing(asking)
    }
}

fn asking() -> String {
    "asking about a device".to_string()
}

fn answer(device: String, output: &Output) -> DeviceCheck {
    let status = output.status.code();
    if let (Some(0), Ok(answer)) = (status, serde_json::from_slice(&output.stdout)) {
        return answer;
    }
    let is = |kind: Kind| status == Some(kind.exit_status().into());
    let state = match () {
        () if is(Kind::NoManager) => ManagerState::None,
        () if is(Kind::TimedOut) => ManagerState::Silent,
        () if is(Kind::Denied) => ManagerState::Denied,
        () => ManagerState::Unknown,
    };
    let mut check = DeviceCheck::new(device, state);
    (check.error, check.advice) = error::read_json(&String::from_utf8_lossy(&output.stderr));
    check
}
