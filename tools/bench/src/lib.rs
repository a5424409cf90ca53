// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench`: measurements, side by side.
//!
//! One measurement (a cell: which IPC, how many pairs, how big) is made by a program of its own,
//! bench-ipc or bench-peers, whose processes end with it; this command decides which cells make a
//! comparison and in what order, keeps the daemons they need, and shows what came out. Rounds go
//! through everything in turn, so that whatever else the machine does meets each peer alike.
mod addints;
pub mod addints_client;
mod alloc;
mod cell;
mod daemon;
mod figures;
mod heap;
mod heap_app;
mod peer;
mod picture;
mod progress;
mod recorder;
mod stages;
mod throughput;
mod waterfall;

use anybinder_mount::context::Context;
use anybinder_mount::namespace;
use anybinder_mount::trouble::{Doing, Result};
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Round trips and throughput of Binder and of other IPC, by pairs and by size
    Throughput(throughput::Arguments),
    /// A call that adds two integers, through the framework and raw
    Addints(addints::Arguments),
    /// Where a round trip's time goes, stage by stage
    Stages(stages::Arguments),
    /// Clients of several urgencies on one buffer allocator whose pages are being reclaimed
    Alloc(alloc::Arguments),
    /// How often the locks of the page pools of shared buffers are found taken
    Heap(heap::Arguments),
    #[command(hide = true)]
    HeapApp(heap_app::Arguments),
}

pub fn run(context: &Context, command: &Command) -> Result<ExitCode> {
    match command {
        Command::Throughput(arguments) => throughput::run(context, arguments),
        Command::Addints(arguments) => addints::run(context, arguments),
        Command::Stages(arguments) => stages::run(context, arguments),
        Command::Alloc(arguments) => alloc::run(context, arguments),
        Command::Heap(arguments) => heap::run(context, arguments),
        Command::HeapApp(arguments) => heap_app::run(arguments),
    }
}

/// Gets the right to start daemons that mount, in namespaces of our own if need be. Allowed only
/// while this process has one thread.
fn gain_mount_right() -> Result<()> {
    if !namespace::can_mount() {
        namespace::found()?;
        namespace::grant_daemon_capabilities()?;
    }
    Ok(())
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
