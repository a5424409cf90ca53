// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench heap`: how often applications that start find the lock of a page pool taken,
//! and how long they wait for memory, with and without that lock on the free path.
//!
//! Applications run at the same time, one after another in each of some processes
//! (bench/heap_apps.c); from time to time the pools are shrunk as they are when memory is short. A
//! round does that once in each locking mode.
use crate::cell::{Cell, Length};
use crate::comparison::{Column, Comparison, Group, Repeat, Subject, TOGETHER};
use crate::document::Output;
use crate::peer::{Peer, Place};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;

const PARAMETERS: &str = "/sys/module/anybinder_heap/parameters";
const CONTENTION: &str = "/sys/kernel/debug/anybinder_heap/contention";
/// How long the module may take to clean the last buffers, which belongs to the round.
const CLEAN_TIME: Duration = Duration::from_millis(100);
const LOCKING_MODES: [&str; 2] = ["mutex", "lockless"];
/// Applications alive at the same time, and how many of them run in a round.
const ALIVE: u32 = 8;
const APPS: u32 = 64;
/// Allocations of an application.
const ALLOCATIONS: u32 = 263;

#[derive(Debug, clap::Args)]
pub struct Rounds {
    /// How often everything is done in each locking mode
    #[arg(long, value_name = "COUNT", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A heap of the module anybinder_heap
    #[arg(long, value_name = "DEVICE", default_value = "/dev/dma_heap/system")]
    heap: String,

    #[command(flatten)]
    rounds: Rounds,
}

/// The counters of the module, over all pools: blocks added to them, how often the lock was found
/// taken then, and the same of blocks removed.
const COUNTERS: [&str; 4] = ["added", "add_taken", "removed", "remove_taken"];

/// A counter over all rounds.
macro_rules! counter {
    ($head:literal, $($name:literal),*) => {
        ($head, 0, |rounds, _| rounds.sum(|one| Some(0.0 $(+ one.more[$name])*)))
    };
}

const COLUMNS: [Column; 5] = [
    counter!("added", "added"),
    counter!("found taken", "add_taken"),
    counter!("removed", "removed"),
    counter!("found taken", "remove_taken"),
    counter!("taken in all", "add_taken", "remove_taken"),
];

/// From `total: added N taken N removed N taken N`, in the order of COUNTERS.
fn parse(text: &str) -> Option<[f64; 4]> {
    let line = text.lines().find_map(|line| line.strip_prefix("total:"))?;
    let numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    numbers.collect::<Vec<f64>>().try_into().ok()
}

fn read(place: &Place) -> Result<[f64; 4]> {
    let text = place
        .run(&format!("grep total: {CONTENTION}"))
        .map_err(|err| {
            Error::with_advice(
                format!("{CONTENTION} cannot be read: {err}"),
                "This needs root, debugfs, and the module anybinder_heap.",
            )
        })?;
    parse(&text).ok_or_else(|| Error::new(format!("{CONTENTION} has no total.")))
}

impl Rounds {
    /// Measures the heap of `peer`, both locking modes in turn, and publishes.
    pub fn compare(&self, context: &Context, peer: &Peer) -> Result<()> {
        let subjects = LOCKING_MODES.map(|mode| {
            Subject::new(mode, move |cell| {
                peer.place
                    .run(&format!("echo {mode} >{PARAMETERS}/locking && echo"))?;
                let before = read(&peer.place)?;
                let mut figures = peer.measure(cell)?;
                std::thread::sleep(CLEAN_TIME);
                let counts = read(&peer.place)?.into_iter().zip(before);
                let counts = counts.map(|(after, before)| after - before);
                figures.more.extend(COUNTERS.into_iter().zip(counts));
                Ok(figures)
            })
        });
        let cell = Cell {
            pairs: ALIVE,
            length: Length::Calls(u64::from(APPS / ALIVE * ALLOCATIONS)),
            ..Cell::default()
        };
        let title = format!("{APPS} applications, {ALIVE} at a time");
        let mut all = Comparison::new(subjects.into(), vec![Group::new(title, cell, 0..2)]);
        all.measure(Repeat::Rounds(self.rounds))?;
        let words = format!("{} rounds and all pools together; blocks\n", self.rounds);
        let columns = [&COLUMNS[..], &TOGETHER[..]].concat();
        let document = json!({ "apps": APPS, "alive": ALIVE, "rounds": self.rounds });
        let figures = all.published("heap", document, words, all.table(&columns, None));
        figures.publish(context, &self.output)?;
        all.check()
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    read(&Place::Here)?;
    let path = format!("{PARAMETERS}/locking");
    let before = std::fs::read_to_string(&path).doing(|| format!("reading {path}"))?;
    let peer = Peer::plain("heap", "heap", Some(&arguments.heap))?;
    let compared = arguments.rounds.compare(context, &peer);
    std::fs::write(&path, before).doing(|| format!("writing to {path}"))?;
    compared.map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_text_is_read() {
        let text = "order 8 cached: added 3 taken 1 removed 2 taken 0\n\
                    total: added 30 taken 1 removed 20 taken 4\n";
        assert_eq!(parse(text), Some([30.0, 1.0, 20.0, 4.0]));
        assert_eq!(parse("total: added 30 taken 1\n"), None);
    }
}
