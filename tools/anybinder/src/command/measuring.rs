// SPDX-License-Identifier: Apache-2.0
//! The measurements of the crate `anybinder-bench`.
use super::{Limit, Place, RunMode};
use anybinder_bench as bench;
use anybinder_cli::error::Result;
use anybinder_mount::context::Context;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Measure: Binder beside other IPC, and where the time of a call goes
    #[command(subcommand)]
    Bench(Box<bench::Command>),
}

impl Command {
    pub fn run_mode(&self) -> RunMode {
        RunMode {
            limit: Limit::Long,
            place: Place::New,
        }
    }

    pub fn run(&self, context: &Context) -> Result<ExitCode> {
        let Command::Bench(command) = self;
        bench::run(context, command)
    }
}
