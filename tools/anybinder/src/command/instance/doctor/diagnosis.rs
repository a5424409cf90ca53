// SPDX-License-Identifier: Apache-2.0
//! All questions of `anybinder doctor` with their answers, and the verdict. `anybinder report` has
//! it too.
use super::finding::{Check, State};
use super::{devices, gbinder, kernel, kernel_driver, server, user};
use crate::command::instance::container::android;
use anybinder_cli::error::{Kind, Result};
use anybinder_mount::context::Context;
use anybinder_mount::device_check::{DeviceCheck, ManagerState};
use anybinder_mount::instance;
use serde::Serialize;

#[derive(Serialize)]
pub struct Diagnosis {
    /// A driver in the kernel serves Binder devices now.
    kernel_driver: bool,
    /// The daemon can be started by this user.
    daemon: bool,
    /// The module can be built for the running kernel and loaded.
    module: bool,
    /// What was tried works.
    works: bool,
    pub verdict: String,
    devices: Vec<DeviceCheck>,
    checks: Vec<Check>,
    #[serde(skip)]
    pub problem: Option<Kind>,
}

fn machine() -> Vec<Check> {
    vec![
        kernel::paths(),
        user::fuse(),
        user::fuse_limits(),
        user::mounting(),
        user::user_namespaces(),
        kernel::passthrough(),
        kernel::recovery(),
        user::ptrace(),
        kernel::headers(),
        kernel::modules(),
        kernel::secure_boot(),
    ]
}

pub fn diagnose(context: &Context) -> Result<Diagnosis> {
    // Before the namespaces of a daemon are entered, where this user has other rights.
    let machine = machine();
    let driver = kernel_driver::driver();
    let mount = &context.mount;
    instance::join(mount)?;
    let is = |name: &str, state: State| {
        machine
            .iter()
            .any(|check| check.name == name && check.state == state)
    };
    let is_loadable = !is("secure-boot", State::No) && !is("modules", State::No);
    let kernel_driver = driver.state == State::Ok;
    let module = is("headers", State::Ok) && is_loadable && kernel::is_supported();
    let can_start = is("fuse", State::Ok) && !is("mounting", State::No);
    let tried = devices::try_out(mount, can_start)?;
    let kernel = match (kernel_driver, module) {
        (true, _) => "a driver in the kernel is loaded",
        (false, true) => "the module can be built: docs/KERNEL-MODULE.md",
        (false, false) => "no module can be built and loaded as things are",
    };
    let (verdict, problem) = tried.verdict(mount, kernel);
    let mut checks = vec![kernel::version(), driver, kernel::mount(mount)];
    checks.extend(tried.checks(mount));
    checks.extend(server::server(mount));
    let answering = tried
        .devices()
        .iter()
        .filter(|one| one.state == ManagerState::Answers);
    let answering: Vec<String> = answering.map(|one| one.device.clone()).collect();
    checks.extend(android::in_the_way(mount, &answering));
    let devices = tried.devices().to_vec();
    let is_trial_bad = matches!(tried, devices::Tried::Temporary(_)) && problem.is_some();
    let daemon = can_start && !is_trial_bad;
    checks.extend(machine);
    // Those that answered: the directory of a server that is stopped cannot be read.
    let names: Vec<String> = devices.iter().map(|one| one.device.clone()).collect();
    checks.extend(gbinder::gbinder(&names));
    Ok(Diagnosis {
        kernel_driver,
        daemon,
        module,
        works: problem.is_none(),
        verdict,
        devices,
        checks,
        // Where nothing is mounted, a driver of the kernel does as well as the daemon.
        problem: problem.filter(|kind| *kind != Kind::Failed || !kernel_driver),
    })
}

impl Diagnosis {
    /// The answers, a line each.
    pub fn lines(&self) -> Vec<String> {
        self.checks.iter().map(Check::line).collect()
    }

    /// What `anybinder doctor` prints, for a report.
    pub fn answers(&self) -> Vec<String> {
        let mut answers = self.lines();
        answers.push(self.verdict.clone());
        answers
    }
}
