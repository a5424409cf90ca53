// SPDX-License-Identifier: Apache-2.0
//! Whether a service manager answers on a device, whichever program it is.
//!
//! A process can open one device, and a service manager that is stopped never answers, so that each
//! device is asked about by a process of its own (`anybinder manager-check`), with a time limit.
use crate::error::{Doing, Kind, Result};
use crate::mount::Mount;
use serde::{Deserialize, Serialize};
use std::process::{Child, Stdio};

const TIMEOUT_S: &str = "5";

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

/// A device and its service manager.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ManagerCheck {
    pub device: String,
    pub state: ManagerState,
    /// Its process, if it registered itself as Android's does, and may be listed.
    pub pid: Option<u32>,
}

/// Asks about one device.
pub fn ask(mount: &Mount, device: &str) -> Result<ManagerCheck> {
    let devices = [device.to_string()];
    let mut answers = ask_all(mount, &devices)?;
    Ok(answers.remove(0))
}

/// Asks about each device, about all at the same time.
pub fn ask_all(mount: &Mount, devices: &[String]) -> Result<Vec<ManagerCheck>> {
    let start = |device: &String| -> Result<(String, Child)> {
        let child = mount
            .own_command("manager-check")?
            .args(["--json", "--timeout", TIMEOUT_S, "--device", device])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .doing(|| "asking for a service manager".to_string())?;
        Ok((device.clone(), child))
    };
    let children = devices.iter().map(start).collect::<Result<Vec<_>>>()?;
    children
        .into_iter()
        .map(|(device, child)| {
            let output = child
                .wait_with_output()
                .doing(|| "asking for a service manager".to_string())?;
            Ok(answer(device, output.status.code(), &output.stdout))
        })
        .collect()
}

fn answer(device: String, status: Option<i32>, stdout: &[u8]) -> ManagerCheck {
    if let (Some(0), Ok(answer)) = (status, serde_json::from_slice(stdout)) {
        return answer;
    }
    let is = |kind: Kind| status == Some(kind.exit_status().into());
    let state = match () {
        () if is(Kind::NoManager) => ManagerState::None,
        () if is(Kind::TimedOut) => ManagerState::Silent,
        () if is(Kind::Denied) => ManagerState::Denied,
        () => ManagerState::Unknown,
    };
    ManagerCheck {
        device,
        state,
        pid: None,
    }
}
