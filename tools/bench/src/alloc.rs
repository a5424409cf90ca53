// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench alloc`: clients of several priorities send calls of mixed sizes to one server
//! while the pages of its buffers are being reclaimed.
//!
//! All of them share the server's allocator: where the thread that holds its lock can lose the
//! processor, the least urgent client delays the most urgent one, for as long as the maximum of
//! that one's line shows. `vm.rs` compares drivers in this way.
use crate::cell::{Cell, Length};
use crate::chart;
use crate::daemon::{self, Scratch};
use crate::document::{self, Output, Part, Published};
use crate::durations::Durations;
use crate::figures::{Class, Figures};
use crate::peer::{Device, Peer};
use crate::scheduling::{Policy, SchedulingOptions};
use crate::table::Table;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::interrupt;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

const RECLAIM_FILE: &str = "/proc/sys/vm/drop_caches";
/// Slab objects, among them all that shrinkers free.
const RECLAIM_WORD: &str = "2";
const RECLAIM_INTERVAL: Duration = Duration::from_millis(2);

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How long the clients make calls
    #[arg(long, value_name = "MS", default_value_t = 3000,
          value_parser = clap::value_parser!(u64).range(1..=600_000))]
    duration_ms: u64,

    /// Pause of each client between calls in us, not measured
    #[arg(long, value_name = "US", default_value_t = 200)]
    rest_us: u64,

    /// Threads of this program that keep the processors busy
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    load: u32,

    /// Nice value of those threads
    #[arg(long, value_name = "NICE", default_value_t = 0, allow_hyphen_values = true,
          value_parser = clap::value_parser!(i32).range(-20..=19))]
    load_nice: i32,

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

    /// The binder device to measure, instead of an anybinderd of its own
    #[arg(long, value_name = "LABEL=PATH")]
    device: Option<Device>,

    #[command(flatten)]
    scheduling: SchedulingOptions,

    #[command(flatten)]
    output: Output,
}

/// One measurement of one driver.
#[derive(Clone, Deserialize, Serialize)]
pub struct Run {
    pub label: String,
    machine: Value,
    duration_ms: u64,
    clients: u32,
    load: u32,
    load_nice: i32,
    /// How often reclaim was requested.
    reclaims: u64,
    pub classes: Vec<Class>,
}

impl Run {
    /// The durations of the clients of one priority; None: there are none.
    pub fn class(&self, name: &str) -> Option<&Durations> {
        let found = self.classes.iter().find(|class| class.class == name);
        found.map(|class| &class.durations)
    }

    /// All rounds of one driver together; None of no rounds.
    pub fn sum(rounds: &[Run]) -> Option<Run> {
        let mut all = rounds.first()?.clone();
        for round in &rounds[1..] {
            all.duration_ms += round.duration_ms;
            all.reclaims += round.reclaims;
            for (sum, class) in all.classes.iter_mut().zip(&round.classes) {
                sum.durations.add(&class.durations);
            }
        }
        Some(all)
    }
}

/// Threads that repeat one action each until this is dropped.
struct Background {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    fn new() -> Self {
        Background {
            ended: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
        }
    }

    fn repeat(&mut self, nice: i32, mut what: impl FnMut() + Send + 'static) {
        let ended = self.ended.clone();
        self.threads.push(std::thread::spawn(move || {
            // SAFETY: it changes only this thread, and nothing if it is not permitted.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
            while !ended.load(Ordering::Relaxed) {
                what();
            }
        }));
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn reclaim() -> std::io::Result<()> {
    std::fs::write(RECLAIM_FILE, RECLAIM_WORD)
}

/// Starts load and reclaim; the counter says how often reclaim was requested.
fn disturb(arguments: &Arguments) -> Result<(Background, Arc<AtomicU64>)> {
    let mut background = Background::new();
    let count = Arc::new(AtomicU64::new(0));
    for _ in 0..arguments.load {
        background.repeat(arguments.load_nice, std::hint::spin_loop);
    }
    if !arguments.no_reclaim {
        reclaim().map_err(|err| {
            Error::with_advice(
                format!("{RECLAIM_FILE} cannot be written: {err}."),
                "Run this as root, or without reclaim (--no-reclaim).",
            )
        })?;
        let counter = count.clone();
        background.repeat(0, move || {
            if reclaim().is_ok() {
                counter.fetch_add(1, Ordering::Relaxed);
            }
            std::thread::sleep(RECLAIM_INTERVAL);
        });
    }
    Ok((background, count))
}

fn measure(peer: &Peer, arguments: &Arguments) -> Result<Run> {
    let cell = Cell {
        pairs: arguments.clients,
        length: Length::Duration(Duration::from_millis(arguments.duration_ms)),
        delay_us: arguments.rest_us,
        classes: arguments.classes.clone(),
        ..Cell::default()
    };
    let (background, reclaims) = disturb(arguments)?;
    let figures: Figures = peer.measure(&cell, &arguments.scheduling)?;
    drop(background);
    Ok(Run {
        label: peer.name.clone(),
        machine: document::machine(),
        duration_ms: arguments.duration_ms,
        clients: arguments.clients,
        load: arguments.load,
        load_nice: arguments.load_nice,
        reclaims: reclaims.load(Ordering::Relaxed),
        classes: figures.classes,
    })
}

fn measure_here(arguments: &Arguments) -> Result<Run> {
    if let Some(device) = &arguments.device {
        arguments.scheduling.apply()?;
        let peer = Peer::plain(device.label(), "alloc", Some(device.path()))?;
        return measure(&peer, arguments);
    }
    daemon::gain_mount_right()?;
    arguments.scheduling.apply()?;
    let scratch = Scratch::new()?;
    let daemon = daemon::anybinderd(&scratch.0)?;
    let peer = Peer::plain("anybinderd", "alloc", Some(&daemon.address))?;
    measure(&peer, arguments)
}

/// The figures of several drivers. The picture has the classes of a single one, the most urgent
/// class of each of several.
pub fn published(runs: &[Run]) -> Published {
    let mut documents = Vec::new();
    let heads = [
        "", "class", "calls", "avg ms", "max ms", "min ms", "p99 ms", "p99.9 ms",
    ];
    let mut table = Table::new(heads);
    for run in runs {
        let mut value = serde_json::to_value(run).expect("own types become JSON");
        let outs = value["classes"].as_array_mut().into_iter().flatten();
        for (Class { class, durations }, out) in run.classes.iter().zip(outs) {
            let [min_us, avg_us, max_us] =
                [durations.min_us(), durations.avg_us(), durations.max_us()];
            for (key, figure) in [("min_us", min_us), ("avg_us", avg_us), ("max_us", max_us)] {
                out[key] = json!(figure);
            }
            out["quantiles"] = durations.quantiles();
            let tails = [durations.quantile_us(0.99), durations.quantile_us(0.999)];
            let figures = [avg_us, max_us, min_us].into_iter().chain(tails);
            let mut row = vec![
                run.label.clone(),
                class.clone(),
                durations.calls().to_string(),
            ];
            row.extend(figures.map(|us| format!("{:.3}", us / 1000.0)));
            table.row(row);
        }
        documents.push(value);
    }
    let reclaims = runs
        .iter()
        .map(|run| format!("{} {}", run.label, run.reclaims));
    let reclaims = reclaims.collect::<Vec<_>>().join(", ");
    let (title, lines) = match runs {
        [run] => (
            run.label.clone(),
            run.classes.iter().map(|one| (&one.class, one)).collect(),
        ),
        _ => {
            let first = runs
                .iter()
                .filter_map(|run| Some((&run.label, run.classes.first()?)));
            (
                "the most urgent clients".to_string(),
                first.collect::<Vec<_>>(),
            )
        }
    };
    let curves = lines
        .iter()
        .map(|(name, one)| ((*name).clone(), one.durations.curve()));
    let chart = chart::tails(format!("{title}: duration of a call"), curves);
    Published {
        name: "alloc",
        document: json!({ "bench": "alloc", "runs": documents }),
        picture: Some(chart::draw(&chart, &[])),
        parts: vec![
            Part::Table(table),
            Part::Words(format!("reclaim was requested: {reclaims}")),
        ],
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    let run = measure_here(arguments)?;
    published(&[run]).publish(context, &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}
