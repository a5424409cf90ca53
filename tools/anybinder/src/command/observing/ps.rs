// SPDX-License-Identifier: Apache-2.0
//! `anybinder ps`: the processes that have a device open, from `binder_logs/stats`.
use anybinder_mount::binderfs::{self, ProcessStats};
use anybinder_mount::context::Context;
use anybinder_mount::error::Result;
use anybinder_mount::harmless::harmless;
use anybinder_mount::process::command_name;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct Row {
    command: String,
    #[serde(flatten)]
    stats: ProcessStats,
}

fn print(rows: &[Row]) {
    println!(
        "{:>7} {:<12} {:<16} {:>7} {:>6} {:>6} {:>7} {:>7}",
        "PID", "CONTEXT", "COMMAND", "THREADS", "NODES", "REFS", "BUFFERS", "PENDING"
    );
    for row in rows {
        println!(
            "{:>7} {:<12} {:<16} {:>7} {:>6} {:>6} {:>7} {:>7}",
            row.stats.pid,
            row.stats.context,
            harmless(&row.command),
            row.stats.threads,
            row.stats.nodes,
            row.stats.refs,
            row.stats.buffers,
            row.stats.pending
        );
    }
}

pub fn run(context: &Context) -> Result<ExitCode> {
    let mut rows: Vec<Row> = binderfs::process_stats(&context.mount)?
        .into_iter()
        .map(|stats| Row {
            command: command_name(stats.pid),
            stats,
        })
        .collect();
    rows.sort_by_key(|row| row.stats.pid);
    context.show(&rows, |rows| print(rows));
    Ok(ExitCode::SUCCESS)
}
