// SPDX-License-Identifier: Apache-2.0
//! Several devices, each with a separate context. The client of another device is another process:
//! rsbinder opens one device for each process.
use super::cases;
use crate::fixture::{holds, same, Failure, Fixture, Verdict};
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
    fn start(fixture: &Fixture) -> Result<Self, Failure> {
        if !fixture.device(DEVICE).exists() {
            return Err(Failure::Skipped(format!("there is no device {DEVICE}")));
        }
        let mut child = fixture
            .role("manage")?
            .args(["--device", DEVICE])
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let manager = ContextManager(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        same("the manager's output", line.trim(), "ready")?;
        Ok(manager)
    }

    fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

/// The pid of a device's manager, queried by a separate process; None without a manager.
fn manager_of(fixture: &Fixture, device: &str) -> Result<Option<i32>, Failure> {
    let output = fixture
        .role("who-manages")?
        .args(["--device", device])
        .output()?;
    let word = String::from_utf8_lossy(&output.stdout).trim().to_string();
    Ok(word.parse().ok())
}

fn another_device_has_another_manager(fixture: &Fixture) -> Verdict {
    let manager = ContextManager::start(fixture)?;
    same(
        "the other device",
        manager_of(fixture, DEVICE)?,
        Some(manager.pid()),
    )?;
    holds(
        "this device",
        manager_of(fixture, "binder")? != Some(manager.pid()),
    )
}

fn a_device_has_one_manager(fixture: &Fixture) -> Verdict {
    let _manager = ContextManager::start(fixture)?;
    let second = fixture
        .role("manage")?
        .args(["--device", DEVICE])
        .output()?;
    holds("the second is refused", !second.status.success())?;
    let words = String::from_utf8_lossy(&second.stdout);
    holds(
        "it never got ready",
        !words.lines().any(|line| line == "ready"),
    )
}

fn a_dead_manager_makes_room(fixture: &Fixture) -> Verdict {
    drop(ContextManager::start(fixture)?);
    same("no manager", manager_of(fixture, DEVICE)?, None)?;
    let second = ContextManager::start(fixture)?;
    same(
        "the next one does",
        manager_of(fixture, DEVICE)?,
        Some(second.pid()),
    )
}
