// SPDX-License-Identifier: Apache-2.0
//! What tests of services and of their clients need.
use super::{RunMode, ENDLESS, LONG};
use anybinder_cli::error::Result;
use anybinder_mount::context::Context;
use std::process::ExitCode;

pub mod disturb;
pub mod fake;
pub mod fuzz;
pub mod replay;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Register services that answer as told
    Fake(fake::Arguments),
    /// Delay, fail or drop calls to a service
    Disturb(disturb::Arguments),
    /// Make recorded calls again, and compare the replies
    Replay(replay::Arguments),
    /// Call a service at random until it dies, hangs or grows
    Fuzz(fuzz::Arguments),
}

impl Command {
    pub fn run_mode(&self) -> RunMode {
        match self {
            Command::Fake(_) | Command::Disturb(_) => ENDLESS,
            Command::Replay(_) | Command::Fuzz(_) => LONG,
        }
    }

    pub fn run(&self, context: &Context) -> Result<ExitCode> {
        match self {
            Command::Fake(arguments) => fake::run(context, arguments),
            Command::Disturb(arguments) => disturb::run(context, arguments),
            Command::Replay(arguments) => replay::run(context, arguments),
            Command::Fuzz(arguments) => fuzz::run(context, arguments),
        }
    }
}
