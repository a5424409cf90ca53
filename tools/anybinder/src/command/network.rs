// SPDX-License-Identifier: Apache-2.0
//! Services of other machines, and ours for them.
use super::{Place, RunMode, ENDLESS};
use anybinder_cli::error::Result;
use anybinder_mount::context::Context;
use std::process::ExitCode;

pub mod bridge;
pub mod export;
pub mod link;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Serve local services to other machines
    Export(export::Arguments),
    /// Register a service of another machine
    Link(link::Arguments),
    /// Register services of one context of this machine in another one
    Bridge(bridge::Arguments),
}

impl Command {
    pub fn run_mode(&self) -> RunMode {
        match self {
            // The command line names the mounts.
            Command::Bridge(_) => RunMode {
                place: Place::Any,
                ..ENDLESS
            },
            _ => ENDLESS,
        }
    }

    pub fn run(&self, context: &Context) -> Result<ExitCode> {
        match self {
            Command::Export(arguments) => export::run(context, arguments),
            Command::Link(arguments) => link::run(context, arguments),
            Command::Bridge(arguments) => bridge::run(context, arguments),
        }
    }
}
