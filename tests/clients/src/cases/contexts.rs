// SPDX-License-Identifier: Apache-2.0
//! Several devices, each a world of its own. The client of another device is another process:
//! rsbinder opens one device for each process.
use super::cases;
use crate::stage::{holds, same, Failure, Stage, Verdict};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

cases![
    another_device_has_another_manager,
    a_device_has_one_manager,
    a_dead_manager_makes_room,
];

const DEVICE: &str = "vndbinder";

/// A process that manages the other device's context; dropping it kills it.
struct ContextManager(Child);

impl Drop for ContextManager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl ContextManager {
    fn start(stage: &Stage) -> Result<Self, Failure> {
        if !stage.device(DEVICE).exists() {
            return Err(Failure::Skipped(format!("there is no device {DEVICE}")));
        }
        let mut child = stage
            .role("manage")?
            .args(["--device", DEVICE])
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let manager = ContextManager(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        same("the manager's word", line.trim(), "ready")?;
        Ok(manager)
    }

    fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

/// Who manages a device, asked by a process of its own; None if nobody does.
fn manager_of(stage: &Stage, device: &str) -> Result<Option<i32>, Failure> {
    let output = stage
        .role("who-manages")?
        .args(["--device", device])
        .output()?;
    let word = String::from_utf8_lossy(&output.stdout).trim().to_string();
    Ok(word.parse().ok())
}

fn another_device_has_another_manager(stage: &Stage) -> Verdict {
    let manager = ContextManager::start(stage)?;
    same(
        "the other device",
        manager_of(stage, DEVICE)?,
        Some(manager.pid()),
    )?;
    holds(
        "this device",
        manager_of(stage, "binder")? != Some(manager.pid()),
    )
}

fn a_device_has_one_manager(stage: &Stage) -> Verdict {
    let _manager = ContextManager::start(stage)?;
    let second = stage.role("manage")?.args(["--device", DEVICE]).output()?;
    holds("the second is refused", !second.status.success())?;
    let words = String::from_utf8_lossy(&second.stdout);
    holds(
        "it never got ready",
        !words.lines().any(|line| line == "ready"),
    )
}

fn a_dead_manager_makes_room(stage: &Stage) -> Verdict {
    drop(ContextManager::start(stage)?);
    same("nobody manages", manager_of(stage, DEVICE)?, None)?;
    let second = ContextManager::start(stage)?;
    same(
        "the next one does",
        manager_of(stage, DEVICE)?,
        Some(second.pid()),
    )
}
