// SPDX-License-Identifier: Apache-2.0
//! `anybinder doctor`: what this machine can do for Binder, a line for each question, and what to
//! change where it cannot.
mod check;
mod driver;
mod kernel;
mod server;
mod user;

use anybinder_mount::context::Context;
use anybinder_mount::error::{Kind, Result};
use check::{Check, State};
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct Diagnosis {
    /// A driver in the kernel serves Binder devices now.
    kernel_driver: bool,
    /// The daemon can be started by this user.
    daemon: bool,
    /// The module can be built for the running kernel and loaded.
    module: bool,
    checks: Vec<Check>,
}

fn diagnose(context: &Context) -> Diagnosis {
    let mut checks = vec![
        kernel::version(),
        driver::driver(),
        kernel::mount(&context.mount),
    ];
    checks.extend(server::server(&context.mount));
    checks.extend([
        kernel::paths(),
        user::fuse(),
        user::fuse_limits(),
        user::mounting(),
        user::user_namespaces(),
        kernel::passthrough(),
        kernel::recovery(),
        user::ptrace(),
        kernel::headers(),
        kernel::secure_boot(),
    ]);
    let is = |name: &str, state: State| {
        checks
            .iter()
            .any(|check| check.name == name && check.state == state)
    };
    Diagnosis {
        kernel_driver: is("driver", State::Ok),
        daemon: is("fuse", State::Ok) && !is("mounting", State::No),
        module: is("headers", State::Ok) && !is("secure-boot", State::No) && kernel::is_supported(),
        checks,
    }
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

/// What `anybinder doctor` prints, for a report.
pub fn answers(context: &Context) -> Vec<String> {
    let diagnosis = diagnose(context);
    let mut answers = lines(&diagnosis);
    answers.push(verdict(&diagnosis));
    answers
}

fn print(diagnosis: &Diagnosis) {
    for line in lines(diagnosis) {
        println!("{line}");
    }
    println!();
    println!("{}", verdict(diagnosis));
}

fn verdict(diagnosis: &Diagnosis) -> String {
    let daemon = match diagnosis.daemon {
        true => "the daemon works here: `anybinder up`",
        false => "the daemon does not work here for this user",
    };
    let kernel = match (diagnosis.kernel_driver, diagnosis.module) {
        (true, _) => "a driver in the kernel is loaded",
        (false, true) => "the module can be built: docs/KERNEL-MODULE.md",
        (false, false) => "no module can be built and loaded as things are",
    };
    format!("{daemon}; {kernel}")
}

pub fn run(context: &Context) -> Result<ExitCode> {
    let diagnosis = diagnose(context);
    context.show(&diagnosis, print);
    Ok(match diagnosis.daemon || diagnosis.kernel_driver {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(Kind::Failed.exit_status()),
    })
}
