// SPDX-License-Identifier: Apache-2.0
//! The files that a mounted Binder file system offers beside its devices.
use crate::mount::Mount;
use crate::mount_table::mounted_fstype;
use crate::served::STATS_ADVICE;
use anybinder_cli::error::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const DEBUGFS: &str = "/sys/kernel/debug";
/// The parameters of this project's module are the names that it has.
const MODULE: &str = "/sys/module/anybinder/parameters";

/// Where the kernel's driver has its reports when its binderfs is mounted without `stats`. Of two
/// drivers the mount's type says which is meant.
pub(crate) fn debugfs(mount: &Mount) -> PathBuf {
    let parameter = |name: &str| {
        let text = std::fs::read_to_string(Path::new(MODULE).join(name)).unwrap_or_default();
        text.trim().to_string()
    };
    let fstype = mounted_fstype(&mount.path).unwrap_or_default();
    let is_modules = fstype == "anybinder" || fstype == parameter("filesystem");
    let name = match is_modules {
        true => parameter("debugfs"),
        false => String::new(),
    };
    let name = if name.is_empty() { "binder" } else { &name };
    Path::new(DEBUGFS).join(name)
}

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
    /// How many threads the process started because the driver asked, and how many it allows.
    pub started_threads: u32,
    pub max_threads: u32,
    /// Bytes left for one-way calls.
    pub free_async: u64,
    /// Transactions that were delivered to the process, and that it sent, since its open.
    pub received: u64,
    pub sent: u64,
}

/// The processes in `binder_logs/stats`, in the file's order. Fails if there is no such file or
/// the user may not read it.
pub fn process_stats(mount: &Mount) -> Result<Vec<ProcessStats>> {
    let path = mount.file("binder_logs").join("stats");
    let text = std::fs::read_to_string(&path)
        .or_else(|_| std::fs::read_to_string(debugfs(mount).join("stats")))
        .map_err(|err| mount.unreadable(&path, &err, STATS_ADVICE))?;
    Ok(parse(&text))
}

/// Each process is a paragraph: `proc PID`, `context NAME`, then indented `key: value` lines. The
/// totals above the first paragraph start with `proc: ` and are skipped.
pub fn parse(stats: &str) -> Vec<ProcessStats> {
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
        if let Some(space) = line.trim().strip_prefix("free async space ") {
            row.free_async = space.trim().parse().unwrap_or(0);
            continue;
        }
        let Some((key, value)) = line.trim().split_once(':') else {
            continue;
        };
        // `requested threads: 0+1/15`
        if let ("requested threads", Some((_, counts))) = (key, value.split_once('+')) {
            let (started, max) = counts.split_once('/').unwrap_or((counts, "0"));
            row.started_threads = started.trim().parse().unwrap_or(0);
            row.max_threads = max.trim().parse().unwrap_or(0);
            continue;
        }
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
            // In the words of the driver in Rust.
            "free oneway space" => row.free_async = count.into(),
            "BR_TRANSACTION" | "BR_TRANSACTION_SEC_CTX" => row.received += u64::from(count),
            "BC_TRANSACTION" | "BC_TRANSACTION_SG" => row.sent += u64::from(count),
            _ => {}
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_drivers_tell_the_space_for_one_way_calls() {
        let of = |line| parse(&format!("proc 7\ncontext binder\n  buffers: 0\n{line}\n"));
        assert_eq!(of("  free async space 520192")[0].free_async, 520_192);
        assert_eq!(of("  free oneway space: 520192")[0].free_async, 520_192);
    }
}
