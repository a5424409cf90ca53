// SPDX-License-Identifier: Apache-2.0
//! The measurements of the crate `anybinder-bench`.
use super::run_mode::{Limit, Place, RunMode, ENDLESS};
use anybinder_bench as bench;
use anybinder_cli::error::Result;
use anybinder_mount::context::Context;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Measure: Binder beside other IPC, and where the time of a call goes
    #[command(subcommand)]
    Bench(Box<bench::Command>),
    #[command(hide = true)]
    AddintsClient(bench::addints::client::Arguments),
}

impl Command {
    pub fn run_mode(&self) -> RunMode {
        match self {
            Command::Bench(_) => RunMode {
                limit: Limit::Long,
                place: Place::New,
            },
            Command::AddintsClient(_) => ENDLESS,
        }
    }

    pub fn run(&self, context: &Context) -> Result<ExitCode> {
        match self {
            Command::Bench(command) => bench::run(context, command),
            Command::AddintsClient(arguments) => bench::addints::client::run(context, arguments),
        }
    }
}
