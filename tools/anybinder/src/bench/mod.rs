// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench`: measurements, side by side.
//!
//! One measurement (a cell: which IPC, how many pairs, how big) is made by a program of its own,
//! bench-ipc or bench-peers, whose processes end with it; this command decides which cells make a
//! comparison and in what order, keeps the daemons they need, and shows what came out. Rounds go
//! through everything in turn, so that whatever else the machine does meets each peer alike.
mod cell;
mod daemon;
mod figures;
mod peer;
mod picture;
mod progress;
mod throughput;

use crate::trouble::{Doing, Result};
use crate::Context;
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Round trips and throughput of Binder and of other IPC, by pairs and by size
    Throughput(throughput::Arguments),
}

pub fn run(context: &Context, command: &Command) -> Result<ExitCode> {
    match command {
        Command::Throughput(arguments) => throughput::run(context, arguments),
    }
}

/// Writes the figures as JSON into the directory of results, which is made if need be.
fn save_json(directory: &Path, name: &str, document: &serde_json::Value) -> Result<()> {
    std::fs::create_dir_all(directory).doing(|| format!("making {}", directory.display()))?;
    let path = directory.join(name);
    let text = serde_json::to_string_pretty(document).expect("own types become JSON");
    std::fs::write(&path, text + "\n").doing(|| format!("writing {}", path.display()))
}

/// What the figures were measured on.
fn machine() -> serde_json::Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let model = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map(|(_, model)| model.trim().to_string());
    let load: Vec<f64> = read("/proc/loadavg")
        .split(' ')
        .take(3)
        .filter_map(|field| field.parse().ok())
        .collect();
    serde_json::json!({
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "cpu": model,
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "load_average": load,
    })
}
