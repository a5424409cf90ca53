// SPDX-License-Identifier: Apache-2.0
//! `anybinder doctor`: whether Binder works here for the user who asks, which is tried (`devices`);
//! what this machine can do, a line for each question, and what to change where it cannot.
mod check;
mod devices;
mod driver;
mod kernel;
mod server;
mod user;

use crate::command::observing::report;
use anybinder_mount::context::Context;
use anybinder_mount::device_check::DeviceCheck;
use anybinder_mount::error::{Kind, Result};
use anybinder_mount::harmless::harmless;
use anybinder_mount::instance;
use check::{Check, State};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Also write a file for a bug report: that of `anybinder report`, without payloads and without
    /// names of services
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
}

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
    verdict: String,
    devices: Vec<DeviceCheck>,
    checks: Vec<Check>,
    #[serde(skip)]
    problem: Option<Kind>,
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
    let driver = driver::driver();
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
    let devices = tried.devices().to_vec();
    let is_trial_bad = matches!(tried, devices::Tried::Temporary(_)) && problem.is_some();
    let daemon = can_start && !is_trial_bad;
    checks.extend(machine);
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

/// The answers, a line each.
fn lines(diagnosis: &Diagnosis) -> Vec<String> {
    let line = |check: &Check| {
        let state = match check.state {
            State::Ok => "ok",
            State::Limited => "limited",
            State::No => "no",
        };
        let advice = check.advice.as_ref();
        let advice = advice.map_or(String::new(), |advice| format!(" -> {advice}"));
        format!("{:<12} {state:<8} {}{advice}", check.name, check.text)
    };
    diagnosis.checks.iter().map(line).collect()
}

impl Diagnosis {
    /// What `anybinder doctor` prints, for a report.
    pub fn answers(&self) -> Vec<String> {
        let mut answers = lines(self);
        answers.push(self.verdict.clone());
        answers
    }
}

fn print(diagnosis: &Diagnosis) {
    for line in lines(diagnosis) {
        println!("{}", harmless(&line));
    }
    println!();
    println!("{}", harmless(&diagnosis.verdict));
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let diagnosis = diagnose(context)?;
    context.show(&diagnosis, print);
    if let Some(path) = &arguments.bundle {
        report::write(context, &diagnosis, path)?;
    }
    let status = |kind: Kind| ExitCode::from(kind.exit_status());
    Ok(diagnosis.problem.map_or(ExitCode::SUCCESS, status))
}
