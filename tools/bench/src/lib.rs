// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench`: measurements, side by side.
//!
//! One measurement (a cell: which IPC, how many pairs, how big) is made by a program of its own,
//! bench-ipc or bench-peers, whose processes end with it. This crate decides which cells make a
//! comparison and in what order, runs the daemons they need, and prints and draws the figures.
//! Rounds go through all cells in turn, so that other load on the machine affects each peer alike.
mod alloc;
mod cell;
mod chart;
mod comparison;
mod daemon;
mod document;
pub mod durations;
mod figures;
mod footprint;
mod heap;
mod idle_clients;
mod machine;
mod paths;
mod peer;
mod progress;
mod stages;
mod table;
mod targets;
mod throughput;
mod vm;

use anybinder_mount::context::Context;
use anybinder_mount::error::Result;
use std::process::ExitCode;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Round trips and throughput of Binder and of other IPC, by pairs and by size
    Throughput(throughput::Arguments),
    /// The daemon beside other IPC, and whether it meets its targets: what `make bench` does
    Targets(targets::Arguments),
    /// What each client, object and buffer costs the daemon's memory, beside dbus-broker
    Memory(footprint::Arguments),
    /// What a call costs on each way to the daemon: bound files, ordinary users, options, libraries
    Paths(paths::Arguments),
    /// Where the time of a round trip goes, stage by stage
    Stages(stages::Arguments),
    /// Clients of several priorities on one buffer allocator whose pages are being reclaimed
    Alloc(alloc::Arguments),
    /// How often the locks of the page pools of shared buffers are found taken
    Heap(heap::Arguments),
    /// Drivers beside each other in emulated machines, each with a kernel of its own
    #[command(subcommand)]
    Vm(vm::Command),
}

/// Makes the measurement, prints its figures and keeps them where the arguments say.
pub fn run(context: &Context, command: &Command) -> Result<ExitCode> {
    match command {
        Command::Throughput(arguments) => throughput::run(context, arguments),
        Command::Targets(arguments) => targets::run(context, arguments),
        Command::Memory(arguments) => footprint::run(context, arguments),
        Command::Paths(arguments) => paths::run(context, arguments),
        Command::Stages(arguments) => stages::run(context, arguments),
        Command::Alloc(arguments) => alloc::run(context, arguments),
        Command::Heap(arguments) => heap::run(context, arguments),
        Command::Vm(command) => vm::run(context, command),
    }
}
