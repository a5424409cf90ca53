// SPDX-License-Identifier: Apache-2.0
//! Services of other machines, and ours for them.
use anybinder_cli::error::Result;
use anybinder_mount::context::Context;
use std::process::ExitCode;

pub mod export;
pub mod link;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Serve local services to other machines
    Export(export::Arguments),
    /// Register a service of another machine
    Link(link::Arguments),
}

impl Command {
    pub fn run(&self, context: &Context) -> Result<ExitCode> {
        match self {
            Command::Export(arguments) => export::run(context, arguments),
            Command::Link(arguments) => link::run(context, arguments),
        }
    }
}
