// SPDX-License-Identifier: Apache-2.0
//! `anybinder ps`: the processes that have a device open, from `binder_logs/stats`, and the one-way
//! calls that wait for them, from `binder_logs/transactions`.
use super::system::backlog::{self, Backlog};
use super::system::known::Known;
use super::system::text::or_dash;
use anybinder_cli::error::Result;
use anybinder_cli::output::{harmless, say};
use anybinder_client::restarts;
use anybinder_mount::binderfs::{self, ProcessStats};
use anybinder_mount::context::Context;
use anybinder_mount::process::command_name;
use anybinder_mount::state_report;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::process::ExitCode;

#[derive(Serialize)]
struct Row {
    command: String,
    #[serde(flatten)]
    stats: ProcessStats,
    /// How often its services were restarted in the last minute, where the service manager tells.
    restarts: Option<u32>,
    /// One-way calls that wait for their turn; empty where the transactions cannot be read.
    backlogs: Vec<Backlog>,
}

fn print(rows: &[Row]) {
    say(format_args!(
        "{:>7} {:<10} {:<15} {:>7} {:>6} {:>6} {:>7} {:>7} {:>6} {:>8}",
        "PID",
        "CONTEXT",
        "COMMAND",
        "THREADS",
        "NODES",
        "REFS",
        "BUFFERS",
        "PENDING",
        "ONEWAY",
        "RESTARTS"
    ));
    for row in rows {
        say(format_args!(
            "{:>7} {:<10} {:<15} {:>7} {:>6} {:>6} {:>7} {:>7} {:>6} {:>8}",
            row.stats.pid,
            row.stats.context,
            harmless(&row.command),
            row.stats.threads,
            row.stats.nodes,
            row.stats.refs,
            row.stats.buffers,
            row.stats.pending,
            row.backlogs.iter().map(|one| one.calls).sum::<usize>(),
            or_dash(row.restarts),
        ));
    }
    for row in rows {
        let long = row.backlogs.iter().filter(|one| one.is_long(u64::MAX));
        for backlog in long {
            let process = format!("{} {}", row.stats.pid, row.command);
            say(format_args!(
                "{}",
                harmless(&format!("BACKLOG {process}: {}", backlog.text()))
            ));
        }
    }
}

/// By process and context.
fn backlogs(context: &Context) -> HashMap<(u32, String), Vec<Backlog>> {
    let none = HashMap::new();
    let busy = state_report::busy_processes(&context.mount).unwrap_or_default();
    busy.iter()
        .map(|one| {
            let found = backlog::at_a_look(one, &none, &Known::Now);
            ((one.pid, one.context.clone()), found)
        })
        .collect()
}

/// The restarts by process, of each context that somebody uses.
fn restarts(context: &Context, stats: &[ProcessStats]) -> HashMap<String, HashMap<u32, u32>> {
    let contexts: BTreeSet<&str> = stats.iter().map(|one| one.context.as_str()).collect();
    let contexts: Vec<&str> = contexts.into_iter().collect();
    restarts::of_devices(&context.mount, &contexts)
        .into_iter()
        .map(|(name, services)| (name, restarts::by_process(&services)))
        .collect()
}

pub fn run(context: &Context) -> Result<ExitCode> {
    let mut backlogs = backlogs(context);
    let stats = binderfs::process_stats(&context.mount)?;
    let restarts = restarts(context, &stats);
    let mut rows: Vec<Row> = stats
        .into_iter()
        .map(|stats| Row {
            command: command_name(stats.pid),
            restarts: restarts
                .get(&stats.context)
                .map(|all| all.get(&stats.pid).copied().unwrap_or(0)),
            backlogs: backlogs
                .remove(&(stats.pid, stats.context.clone()))
                .unwrap_or_default(),
            stats,
        })
        .collect();
    rows.sort_by_key(|row| row.stats.pid);
    context.show(&rows, |rows| print(rows));
    Ok(ExitCode::SUCCESS)
}
