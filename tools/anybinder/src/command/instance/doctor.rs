// SPDX-License-Identifier: Apache-2.0
//! `anybinder doctor`: whether Binder works here for the user who asks, which is tried (`devices`);
//! what this machine can do, a line for each question, and what to change where it cannot.
mod devices;
pub mod diagnosis;
pub mod finding;
mod gbinder;
mod kernel;
mod kernel_driver;
mod server;
mod user;

use crate::command::observing::report;
use anybinder_cli::error::{Kind, Result};
use anybinder_cli::output::say;
use anybinder_mount::context::Context;
use diagnosis::{diagnose, Diagnosis};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Also write a file for a bug report: that of `anybinder report`, without payloads and without
    /// names of services
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
}

fn print(diagnosis: &Diagnosis) {
    for line in diagnosis.lines() {
        say(line);
    }
    say("");
    say(&diagnosis.verdict);
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
