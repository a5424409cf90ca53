// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench alloc`: clients of several priorities send calls of mixed sizes to one server
//! while the pages of its buffers are being reclaimed.
//!
//! All of them share the server's allocator: where the thread that holds its lock can lose the
//! processor, the least urgent client delays the most urgent one, for as long as the maximum of
//! that one's line shows. Before that the same clients make calls undisturbed: the regular path.
//! `vm.rs` compares drivers in this way.
use crate::cell::{Cell, Length, Policy};
use crate::comparison::{Comparison, Group, Repeat, TOGETHER};
use crate::daemon::{self, Scratch};
use crate::document::Output;
use crate::peer::{started_when_needed, Device, Peer};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::interrupt;
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;

/// Requests to free slab objects, among them all that shrinkers free: a peer of bench-ipc.
pub const RECLAIM: &str = "call --peer reclaim --delay-us 2000 --duration-ms 600000";
/// What keeps a processor busy.
const LOAD: &str = "call --peer spin --duration-ms 600000";
const RECLAIM_FILE: &str = "/proc/sys/vm/drop_caches";
/// Between two calls of a client, not measured.
const REST_US: u64 = 200;

#[derive(Debug, clap::Args)]
pub struct Clients {
    /// How long the clients make calls in a round
    #[arg(long, value_name = "MS", default_value_t = 3000,
          value_parser = clap::value_parser!(u64).range(1..=600_000))]
    duration_ms: u64,

    /// How often that is measured
    #[arg(long, value_name = "COUNT", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Priorities of clients: other:NICE or fifo:PRIORITY
    #[arg(
        long,
        value_name = "POLICY:N,...",
        value_delimiter = ',',
        default_value = "fifo:99,fifo:1,other:-20,other:19",
        allow_hyphen_values = true
    )]
    classes: Vec<Policy>,

    /// Clients of each priority
    #[arg(long, value_name = "COUNT", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=8))]
    clients: u32,

    /// Do not reclaim pages (which empties caches of the whole machine and needs root)
    #[arg(long)]
    no_reclaim: bool,

    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The binder device to measure, instead of an anybinderd of its own
    #[arg(long, value_name = "LABEL=PATH")]
    device: Option<Device>,

    #[command(flatten)]
    clients: Clients,
}

impl Clients {
    /// The calls undisturbed, and the same while pages are reclaimed.
    ///
    /// * `servers`: the priority of the server
    pub fn groups(&self, servers: Option<Policy>, subjects: usize) -> Vec<Group> {
        let group = |title: &str, is_disturbed| {
            let cell = Cell {
                pairs: self.clients,
                length: Length::Duration(Duration::from_millis(self.duration_ms)),
                delay_us: REST_US,
                classes: self.classes.clone(),
                servers: servers.clone(),
                is_disturbed,
                ..Cell::default()
            };
            Group::new(title.to_string(), cell, 0..subjects)
        };
        let calm = group("undisturbed", false);
        match self.no_reclaim {
            true => vec![calm],
            false => vec![calm, group("while pages are reclaimed", true)],
        }
    }

    /// Measures and publishes.
    pub fn compare(&self, context: &Context, mut all: Comparison) -> Result<()> {
        all.measure(Repeat::Apart(self.rounds))?;
        all.check()?;
        all.split_classes(self.classes.len());
        let words = format!(
            "{} rounds of {} ms together\n",
            self.rounds, self.duration_ms
        );
        let document = json!({ "duration_ms": self.duration_ms, "clients": self.clients });
        let figures = all.published("alloc", document, words, all.table(&TOGETHER, None));
        figures.publish(context, &self.output)
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    let clients = &arguments.clients;
    if !clients.no_reclaim {
        std::fs::File::options()
            .write(true)
            .open(RECLAIM_FILE)
            .map_err(|err| {
                Error::with_advice(
                    format!("{RECLAIM_FILE} cannot be written: {err}."),
                    "Run this as root, or without reclaim (--no-reclaim).",
                )
            })?;
    }
    let scratch = Scratch::new()?;
    let peer = match &arguments.device {
        Some(device) => Peer::plain(&device.label, "alloc", Some(&device.path))?,
        None => {
            daemon::gain_mount_right()?;
            let daemon = daemon::anybinderd(&scratch.0)?;
            Peer::with("anybinderd", "alloc", daemon::PLAIN, Some(daemon))?
        }
    };
    let beside = [LOAD, RECLAIM].map(String::from);
    let subject = started_when_needed(&peer.name.clone(), move || Ok(peer), beside.into());
    let all = Comparison::new(vec![subject], clients.groups(None, 1));
    clients.compare(context, all)?;
    Ok(ExitCode::SUCCESS)
}
