// SPDX-License-Identifier: Apache-2.0
//! What tests of services and of their clients need.
use super::{RunMode, ENDLESS};
use anybinder_cli::error::Result;
use anybinder_mount::context::Context;
use std::process::ExitCode;

pub mod disturb;
mod random;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Delay, fail or drop calls to a service
    Disturb(disturb::Arguments),
}

impl Command {
    pub fn run_mode(&self) -> RunMode {
        match self {
            Command::Disturb(_) => ENDLESS,
        }
    }

    pub fn run(&self, context: &Context) -> Result<ExitCode> {
        match self {
            Command::Disturb(arguments) => disturb::run(context, arguments),
        }
    }
}
