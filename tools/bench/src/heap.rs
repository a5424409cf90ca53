// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench heap`: how often applications that start find the lock of a page pool taken,
//! and how long they wait for memory, with and without that lock on the free path.
//!
//! Processes are started in turn, some of them running at the same time, and end after a while;
//! from time to time the pools are shrunk as they are when memory is short. A round does that once
//! in each locking mode.
use crate::chart::{self, Chart, Line};
use crate::daemon;
use crate::document;
use crate::figures::{self, histogram_of};
use crate::progress::Progress;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::{json, Value};
use std::collections::VecDeque;
use std::io::Read;
use std::ops::{Add, Sub};
use std::path::{Path, PathBuf};
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

    /// Directory for heap.json and heap.svg
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
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
    durations_ns: Histogram<u64>,
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
fn collect(mut app: Child, durations_ns: &mut Histogram<u64>) -> Result<()> {
    let doing = || "waiting for an application".to_string();
    let mut text = String::new();
    if let Some(mut stdout) = app.stdout.take() {
        stdout.read_to_string(&mut text).doing(doing)?;
    }
    let status = app.wait().doing(doing)?;
    if !status.success() {
        return Err(Error::new(format!("An application ended with {status}.")));
    }
    let pairs: Vec<(u64, u64)> = serde_json::from_str(&text).doing(doing)?;
    let histogram = histogram_of(pairs.into_iter())?;
    durations_ns.add(histogram).doing(doing)
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
fn run_apps(arguments: &Arguments, durations_ns: &mut Histogram<u64>) -> Result<()> {
    let mut alive = VecDeque::new();
    for number in 0..arguments.apps {
        interrupt::check()?;
        if alive.len() >= arguments.alive as usize {
            collect(alive.pop_front().expect("not empty"), durations_ns)?;
        }
        alive.push_back(start(arguments, number)?);
        if number % arguments.shrink_every == arguments.shrink_every - 1 {
            write(SHRINK, &(arguments.shrink_mib << 20).to_string())?;
        }
    }
    for app in alive {
        collect(app, durations_ns)?;
    }
    Ok(())
}

fn measure(arguments: &Arguments) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for locking in LOCKING_MODES {
        outcomes.push(Outcome {
            locking,
            rounds: Vec::new(),
            durations_ns: histogram_of(std::iter::empty())?,
        });
    }
    let mut progress = Progress::new(u64::from(arguments.rounds) * LOCKING_MODES.len() as u64);
    for round in 0..arguments.rounds {
        // The mode that goes first goes second the next time.
        outcomes.reverse();
        for outcome in &mut outcomes {
            progress.at(format!("round {}: {}", round + 1, outcome.locking));
            write(PARAMETER, outcome.locking)?;
            let before = Counts::read()?;
            run_apps(arguments, &mut outcome.durations_ns)?;
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

fn print_table(outcomes: &[Outcome], arguments: &Arguments) {
    println!(
        "{} applications in turn, {} rounds in each locking mode, {} MiB deferred at most;\n\
         added, removed: blocks; taken: a lock found taken; all pools and rounds together\n",
        arguments.apps, arguments.rounds, arguments.deferred_mib
    );
    println!(
        "  {:10}{:>10}{:>10}{:>10}{:>10}{:>10}  {:>10}{:>10}{:>10}{:>10}{:>11}",
        "",
        "added",
        "taken",
        "removed",
        "taken",
        "in all",
        "p50 us",
        "p90 us",
        "p99 us",
        "p99.9 us",
        "max us"
    );
    for outcome in outcomes {
        let sum = outcome.sum();
        let at = |share| outcome.durations_ns.value_at_quantile(share) as f64 / 1000.0;
        println!(
            "  {:10}{:>10}{:>10}{:>10}{:>10}{:>10}  {:>10.1}{:>10.1}{:>10.1}{:>10.1}{:>11.1}",
            outcome.locking,
            sum.added,
            sum.add_taken,
            sum.removed,
            sum.remove_taken,
            sum.taken(),
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            outcome.durations_ns.max() as f64 / 1000.0
        );
    }
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
                "allocations": outcome.durations_ns.len(),
                "quantiles": figures::quantiles(&outcome.durations_ns),
                "distribution": figures::curve(&outcome.durations_ns),
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

/// How long allocations took, and how often a lock was found taken in each round.
fn draw(path: &Path, outcomes: &[Outcome]) -> chart::Outcome {
    let lines = |points: fn(&Outcome) -> Vec<(f64, f64)>| {
        let named = outcomes.iter().map(|outcome| Line {
            bars: Vec::new(),
            name: outcome.locking.to_string(),
            points: points(outcome),
        });
        named.collect()
    };
    // A logarithmic axis has no 0.
    let taken = |outcome: &Outcome| {
        let rounds = outcome.rounds.iter().zip(1..);
        rounds
            .map(|(one, number)| (f64::from(number), one.taken() as f64 + 1.0))
            .collect()
    };
    let nr_rounds = outcomes.first().map_or(0, |outcome| outcome.rounds.len());
    let charts = [
        Chart {
            title: "lock of a pool found taken".to_string(),
            x: "round",
            y: "times + 1",
            ticks: (1..=nr_rounds)
                .map(|round| (round as f64, round.to_string()))
                .collect(),
            lines: lines(taken),
        },
        Chart {
            title: "duration of an allocation".to_string(),
            x: "share of allocations",
            y: "us",
            ticks: chart::tail_ticks(),
            lines: lines(|outcome| chart::tail_points(figures::curve(&outcome.durations_ns))),
        },
    ];
    let names: Vec<String> = LOCKING_MODES.iter().map(ToString::to_string).collect();
    chart::draw(path, &charts, charts.len(), &names, &[])
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
    let document = document_of(&outcomes, arguments);
    document::publish(
        context,
        arguments.output.as_deref(),
        "heap",
        &document,
        |path| draw(path, &outcomes),
        || {
            print_table(&outcomes, arguments);
            Ok(())
        },
    )?;
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
