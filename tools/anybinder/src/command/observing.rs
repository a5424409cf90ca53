// SPDX-License-Identifier: Apache-2.0
//! Shows what processes, threads and calls do.
use super::{RunMode, ENDLESS, LONG, SHORT};
use anybinder_cli::error::Result;
use anybinder_mount::context::Context;
use std::process::ExitCode;

pub mod graph;
mod metrics;
mod page_server;
pub mod ps;
pub mod report;
pub mod system;
pub mod top;
pub mod trace;
pub mod watch;

#[derive(clap::Subcommand)]
pub enum Command {
    /// List the processes that have a device open
    Ps,
    /// Show processes by calls, waiting calls, threads and buffers, again and again
    Top(top::Arguments),
    /// Show the calls of all processes as they happen
    Trace(trace::Arguments),
    /// Show which process calls which, and who has handles of whose objects
    Graph(graph::Arguments),
    /// Print a line whenever a service appears, dies or is replaced
    Watch(watch::Arguments),
    /// Serve calls, errors, latencies and what fills up as a page for Prometheus
    Metrics(metrics::Arguments),
    /// Write what a report of an error needs into one file, nothing private in it
    Report(report::Arguments),
}

impl Command {
    pub fn run_mode(&self, json: bool) -> RunMode {
        match self {
            Command::Trace(_) | Command::Watch(_) => LONG,
            Command::Metrics(_) => ENDLESS,
            // However long it takes to read a recording.
            Command::Top(arguments) if arguments.from.is_some() => LONG,
            Command::Graph(arguments) if arguments.serve.is_some() => ENDLESS,
            Command::Graph(arguments) if arguments.from.is_some() => LONG,
            Command::Top(arguments) if arguments.stream => LONG,
            Command::Top(arguments) if !arguments.once && !json => ENDLESS,
            Command::Ps | Command::Top(_) | Command::Graph(_) | Command::Report(_) => SHORT,
        }
    }

    pub fn run(&self, context: &Context) -> Result<ExitCode> {
        match self {
            Command::Ps => ps::run(context),
            Command::Top(arguments) => top::run(context, arguments),
            Command::Trace(arguments) => trace::run(context, arguments),
            Command::Graph(arguments) => graph::run(context, arguments),
            Command::Watch(arguments) => watch::run(context, arguments),
            Command::Metrics(arguments) => metrics::run(context, arguments),
            Command::Report(arguments) => report::run(context, arguments),
        }
    }
}
