// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench heap`: how often applications that start find the lock of a page pool taken,
//! and how long they wait for memory, with and without that lock on the free path.
//!
//! Processes are started in turn, some of them running at the same time, and end after a while;
//! from time to time the pools are shrunk as they are when memory is short. A round does that once
//! in each locking mode.
use crate::cell::parse;
use crate::chart;
use crate::daemon;
use crate::document::{self, Output, Part, Published};
use crate::durations::Durations;
use crate::progress::Progress;
use crate::table::Table;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use serde::Serialize;
use serde_json::{json, Value};
use std::collections::VecDeque;
use std::io::Read;
use std::ops::{Add, Sub};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

pub mod app;

const PARAMETER: &str = "/sys/module/anybinder_heap/parameters/locking";
const CONTENTION: &str = "/sys/kernel/debug/anybinder_heap/contention";
const SHRINK: &str = "/sys/kernel/debug/anybinder_heap/shrink";
const DEFERRED: &str = "/sys/module/anybinder_heap/parameters/deferred_mib";
/// How long the module may take to clean the last buffers, which belongs to the round.
const CLEAN_TIME: Duration = Duration::from_millis(100);
const LOCKING_MODES: [&str; 2] = ["mutex", "lockless"];

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A heap of the module anybinder_heap
    #[arg(long, value_name = "DEVICE", default_value = "/dev/dma_heap/system")]
    heap: PathBuf,

    /// Applications started in a round
    #[arg(long, value_name = "COUNT", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    apps: u32,

    /// How often everything is done in each locking mode
    #[arg(long, value_name = "COUNT", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Applications alive at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    alive: u32,

    /// How long an application keeps its buffers before it ends
    #[arg(long, value_name = "MS", default_value_t = 20)]
    keep_ms: u64,

    /// Number of starts after which the pools are shrunk
    #[arg(long, value_name = "COUNT", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..))]
    shrink_every: u32,

    /// By how much they are shrunk
    #[arg(long, value_name = "MIB", default_value_t = 40)]
    shrink_mib: u64,

    /// How much freed memory may wait until the module's thread cleans it; 0: cleaned when freed
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    deferred_mib: u32,

    #[command(flatten)]
    output: Output,
}

/// The counters of the module, over all pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Counts {
    added: i64,
    add_taken: i64,
    removed: i64,
    remove_taken: i64,
}

impl Counts {
    /// From `total: added N taken N removed N taken N`.
    fn parse(text: &str) -> Option<Counts> {
        let line = text.lines().find_map(|line| line.strip_prefix("total:"))?;
        let numbers: Vec<i64> = line
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [added, add_taken, removed, remove_taken] = numbers[..] else {
            return None;
        };
        Some(Counts {
            added,
            add_taken,
            removed,
            remove_taken,
        })
    }

    fn read() -> Result<Counts> {
        let text = std::fs::read_to_string(CONTENTION).map_err(|err| {
            Error::with_advice(
                format!("{CONTENTION} cannot be read: {err}."),
                "This needs root, debugfs, and the module anybinder_heap.",
            )
        })?;
        Counts::parse(&text).ok_or_else(|| Error::new(format!("{CONTENTION} has no total.")))
    }

    /// Each count combined with that of `other`.
    fn with(&self, other: &Counts, combine: fn(i64, i64) -> i64) -> Counts {
        Counts {
            added: combine(self.added, other.added),
            add_taken: combine(self.add_taken, other.add_taken),
            removed: combine(self.removed, other.removed),
            remove_taken: combine(self.remove_taken, other.remove_taken),
        }
    }

    fn taken(&self) -> i64 {
        self.add_taken + self.remove_taken
    }
}

/// All rounds in one locking mode.
struct Outcome {
    locking: &'static str,
    rounds: Vec<Counts>,
    durations: Durations,
}

impl Outcome {
    fn sum(&self) -> Counts {
        self.rounds
            .iter()
            .fold(Counts::default(), |sum, one| sum.with(one, Add::add))
    }
}

fn write(path: &str, text: &str) -> Result<()> {
    std::fs::write(path, text).doing(|| format!("writing to {path}"))
}

/// Waits for one application and adds its figures.
fn collect(mut app: Child, durations: &mut Durations) -> Result<()> {
    let doing = || "waiting for an application".to_string();
    let mut text = String::new();
    if let Some(mut stdout) = app.stdout.take() {
        stdout.read_to_string(&mut text).doing(doing)?;
    }
    let status = app.wait().doing(doing)?;
    if !status.success() {
        return Err(Error::new(format!("An application ended with {status}.")));
    }
    durations.add(&parse(&text)?);
    Ok(())
}

fn start(arguments: &Arguments, seed: u32) -> Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command
        .args(["bench", "heap-app", "--heap"])
        .arg(&arguments.heap)
        .args(["--seed", &seed.to_string()])
        .args(["--keep-ms", &arguments.keep_ms.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    daemon::die_with_parent(&mut command);
    command
        .spawn()
        .doing(|| "starting an application".to_string())
}

/// Runs all applications once. After an error those still running end by themselves.
fn run_apps(arguments: &Arguments, durations: &mut Durations) -> Result<()> {
    let mut alive = VecDeque::new();
    for number in 0..arguments.apps {
        interrupt::check()?;
        if alive.len() >= arguments.alive as usize {
            collect(alive.pop_front().expect("not empty"), durations)?;
        }
        alive.push_back(start(arguments, number)?);
        if number % arguments.shrink_every == arguments.shrink_every - 1 {
            write(SHRINK, &(arguments.shrink_mib << 20).to_string())?;
        }
    }
    for app in alive {
        collect(app, durations)?;
    }
    Ok(())
}

fn measure(arguments: &Arguments) -> Result<Vec<Outcome>> {
    let outcomes = LOCKING_MODES.map(|locking| Outcome {
        locking,
        rounds: Vec::new(),
        durations: Durations::default(),
    });
    let mut outcomes = Vec::from(outcomes);
    let mut progress = Progress::new(u64::from(arguments.rounds) * LOCKING_MODES.len() as u64);
    for round in 0..arguments.rounds {
        // The mode that goes first goes second the next time.
        outcomes.reverse();
        for outcome in &mut outcomes {
            progress.at(&format!("round {}: {}", round + 1, outcome.locking));
            write(PARAMETER, outcome.locking)?;
            let before = Counts::read()?;
            run_apps(arguments, &mut outcome.durations)?;
            std::thread::sleep(CLEAN_TIME);
            outcome.rounds.push(Counts::read()?.with(&before, Sub::sub));
            progress.step();
        }
    }
    outcomes.sort_by_key(|outcome| {
        LOCKING_MODES
            .iter()
            .position(|name| *name == outcome.locking)
    });
    Ok(outcomes)
}

fn table_of(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new([
        "", "added", "taken", "removed", "taken", "in all", "p50 us", "p90 us", "p99 us",
        "p99.9 us", "max us",
    ]);
    for outcome in outcomes {
        let (sum, times) = (outcome.sum(), &outcome.durations);
        let counts = [
            sum.added,
            sum.add_taken,
            sum.removed,
            sum.remove_taken,
            sum.taken(),
        ];
        let quantiles = [0.5, 0.9, 0.99, 0.999].map(|share| times.quantile_us(share));
        let mut row = vec![outcome.locking.to_string()];
        row.extend(counts.map(|count| count.to_string()));
        row.extend(quantiles.map(|us| format!("{us:.1}")));
        row.push(format!("{:.1}", times.max_us()));
        table.row(row);
    }
    table
}

fn document_of(outcomes: &[Outcome], arguments: &Arguments) -> Value {
    let modes: Vec<Value> = outcomes
        .iter()
        .map(|outcome| {
            json!({
                "locking": outcome.locking,
                "taken": outcome.sum().taken(),
                "sum": outcome.sum(),
                "rounds": outcome.rounds,
                "allocations": outcome.durations.calls(),
                "quantiles": outcome.durations.quantiles(),
                "distribution": outcome.durations.curve(),
            })
        })
        .collect();
    json!({
        "bench": "heap",
        "machine": document::machine(),
        "heap": arguments.heap,
        "apps": arguments.apps,
        "alive": arguments.alive,
        "rounds": arguments.rounds,
        "deferred_mib": arguments.deferred_mib,
        "shrink_every": arguments.shrink_every,
        "shrink_mib": arguments.shrink_mib,
        "locking_modes": modes,
    })
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    Counts::read()?;
    let before = [PARAMETER, DEFERRED].map(|path| (path, std::fs::read_to_string(path)));
    let outcomes =
        write(DEFERRED, &arguments.deferred_mib.to_string()).and_then(|()| measure(arguments));
    for (path, text) in before {
        write(path, &text.doing(|| format!("reading {path}"))?)?;
    }
    let outcomes = outcomes?;
    let curves = outcomes.iter();
    let curves = curves.map(|one| (one.locking.to_string(), one.durations.curve()));
    let chart = chart::tails("duration of an allocation".to_string(), curves);
    let figures = Published {
        name: "heap",
        document: document_of(&outcomes, arguments),
        picture: Some(chart::draw(&chart, &[])),
        parts: vec![
            Part::Words(format!(
                "{} applications in turn, {} rounds in each locking mode, {} MiB deferred at \
                 most;\nadded, removed: blocks; taken: a lock found taken; all pools and rounds \
                 together\n",
                arguments.apps, arguments.rounds, arguments.deferred_mib
            )),
            Part::Table(table_of(&outcomes)),
        ],
    };
    figures.publish(context, &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_text_is_read() {
        let text = "order 8 cached: added 3 taken 1 removed 2 taken 0\n\
                    total: added 30 taken 1 removed 20 taken 4\n";
        let counts = Counts::parse(text).unwrap();
        assert_eq!((counts.added, counts.add_taken), (30, 1));
        assert_eq!((counts.removed, counts.remove_taken), (20, 4));
        assert_eq!(counts.taken(), 5);
        assert_eq!(Counts::parse("total: added 30 taken 1\n"), None);
    }

    #[test]
    fn rounds_are_differences() {
        let before = Counts::parse("total: added 5 taken 1 removed 2 taken 1").unwrap();
        let after = Counts::parse("total: added 9 taken 1 removed 3 taken 4").unwrap();
        let round = after.with(&before, Sub::sub);
        assert_eq!((round.added, round.removed, round.taken()), (4, 1, 3));
    }
}
