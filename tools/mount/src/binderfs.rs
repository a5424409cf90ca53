// SPDX-License-Identifier: Apache-2.0
//! The files that a mounted Binder file system offers beside its devices.
use crate::error::{Error, Kind, Result};
use crate::mount::Mount;
use serde::Serialize;
use std::collections::BTreeMap;

/// The kernel's driver has its statistics here when its binderfs is mounted without `stats`.
const DEBUGFS_STATS: &str = "/sys/kernel/debug/binder/stats";

/// The files of `features/`: name and contents. Empty if the driver has none.
pub fn features(mount: &Mount) -> BTreeMap<String, String> {
    let Ok(entries) = std::fs::read_dir(mount.file("features")) else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let value = std::fs::read_to_string(entry.path()).ok()?;
            let name = entry.file_name().into_string().ok()?;
            Some((name, value.trim().to_string()))
        })
        .collect()
}

/// What `binder_logs/stats` says about one process that has a device open.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProcessStats {
    pub pid: u32,
    /// The device's name.
    pub context: String,
    pub threads: u32,
    pub nodes: u32,
    pub refs: u32,
    pub buffers: u32,
    /// Transactions that wait for a thread.
    pub pending: u32,
}

/// The processes in `binder_logs/stats`, in the file's order. Fails if there is no such file or
/// the user may not read it.
pub fn process_stats(mount: &Mount) -> Result<Vec<ProcessStats>> {
    let path = mount.file("binder_logs").join("stats");
    let text = std::fs::read_to_string(&path)
        .or_else(|_| std::fs::read_to_string(DEBUGFS_STATS))
        .map_err(|err| {
            let error = Error::with_advice(
                format!("{} cannot be read: {err}.", path.display()),
                "The kernel's binderfs needs the mount option stats=global, and only root may \
                 read it.",
            );
            let kind = match err.kind() {
                std::io::ErrorKind::PermissionDenied => Kind::Denied,
                _ => Kind::Failed,
            };
            mount.check_served().err().unwrap_or(error.of(kind))
        })?;
    Ok(parse(&text))
}

/// Each process is a paragraph: `proc PID`, `context NAME`, then indented `key: value` lines. The
/// totals above the first paragraph start with `proc: ` and are skipped.
fn parse(stats: &str) -> Vec<ProcessStats> {
    let mut rows: Vec<ProcessStats> = Vec::new();
    for line in stats.lines() {
        if let Some(pid) = line.strip_prefix("proc ") {
            rows.push(ProcessStats {
                pid: pid.trim().parse().unwrap_or(0),
                ..ProcessStats::default()
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
        let first = ProcessStats {
            pid: 71,
            context: "binder".to_string(),
            threads: 2,
            nodes: 3,
            refs: 4,
            buffers: 1,
            pending: 2,
        };
        assert_eq!(rows[0], first);
        assert_eq!((rows[1].pid, rows[1].context.as_str()), (70, "hwbinder"));
    }
}
