// SPDX-License-Identifier: Apache-2.0
//! `anybinder ps`: the processes that have a device open, out of `binder_logs/stats`.
use anybinder_mount::context::Context;
use anybinder_mount::place::Place;
use anybinder_mount::process::command_name;
use anybinder_mount::trouble::{Result, Trouble};
use serde::Serialize;
use std::process::ExitCode;

/// The kernel's driver tells the same in debugfs when its binderfs is mounted without statistics.
const DEBUGFS_STATS: &str = "/sys/kernel/debug/binder/stats";

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Row {
    pid: u32,
    context: String,
    command: String,
    threads: u32,
    nodes: u32,
    refs: u32,
    buffers: u32,
    pending: u32,
}

fn read_stats(place: &Place) -> Result<String> {
    let path = place.device("binder_logs").join("stats");
    std::fs::read_to_string(&path)
        .or_else(|_| std::fs::read_to_string(DEBUGFS_STATS))
        .map_err(|err| {
            Trouble::with_advice(
                format!("{} cannot be read: {err}.", path.display()),
                "Bring the home up with `anybinder up`; \
                 the kernel's binderfs needs the mount option stats=global.",
            )
        })
}

/// Each process is a paragraph: `proc PID`, `context NAME`, then indented `key: value` lines. The
/// totals above the first paragraph start with `proc: ` and are passed over.
fn parse(stats: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in stats.lines() {
        if let Some(pid) = line.strip_prefix("proc ") {
            rows.push(Row {
                pid: pid.trim().parse().unwrap_or(0),
                ..Row::default()
            });
            continue;
        }
        let Some(row) = rows.last_mut() else { continue };
        if let Some(context) = line.strip_prefix("context ") {
            row.context = context.trim().to_string();
            continue;
        }
        let Some((key, value)) = line.trim().split_once(':') else {
            continue;
        };
        let first = value.split_whitespace().next();
        let Some(count) = first.and_then(|word| word.parse().ok()) else {
            continue;
        };
        match key {
            "threads" => row.threads = count,
            "nodes" => row.nodes = count,
            "refs" => row.refs = count,
            "buffers" => row.buffers = count,
            "pending transactions" => row.pending = count,
            _ => {}
        }
    }
    rows
}

fn print(rows: &[Row]) {
    println!(
        "{:>7} {:<12} {:<16} {:>7} {:>6} {:>6} {:>7} {:>7}",
        "PID", "CONTEXT", "COMMAND", "THREADS", "NODES", "REFS", "BUFFERS", "PENDING"
    );
    for row in rows {
        println!(
            "{:>7} {:<12} {:<16} {:>7} {:>6} {:>6} {:>7} {:>7}",
            row.pid,
            row.context,
            row.command,
            row.threads,
            row.nodes,
            row.refs,
            row.buffers,
            row.pending
        );
    }
}

pub fn run(context: &Context) -> Result<ExitCode> {
    let mut rows = parse(&read_stats(&context.place)?);
    for row in &mut rows {
        row.command = command_name(row.pid);
    }
    rows.sort_by_key(|row| row.pid);
    context.show(&rows, |rows| print(rows));
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: &str = "\
binder stats:
BC_TRANSACTION: 12
proc: active 2 total 5
thread: active 3 total 9
proc 71
context binder
  threads: 2
  requested threads: 0+1/15
  nodes: 3
  refs: 4 s 4 w 4
  buffers: 1
  pending transactions: 2
  BC_TRANSACTION: 7
proc 70
context hwbinder
  threads: 1
  nodes: 0
";

    #[test]
    fn each_process_is_a_row() {
        let rows = parse(STATS);
        assert_eq!(rows.len(), 2);
        let first = Row {
            pid: 71,
            context: "binder".to_string(),
            threads: 2,
            nodes: 3,
            refs: 4,
            buffers: 1,
            pending: 2,
            ..Row::default()
        };
        assert_eq!(rows[0], first);
        assert_eq!((rows[1].pid, rows[1].context.as_str()), (70, "hwbinder"));
    }
}
