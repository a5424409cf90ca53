// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench alloc`: clients of several priorities send calls of mixed sizes to one server
//! while the pages of its buffers are being reclaimed.
//!
//! All of them share the server's allocator: where the thread that holds its lock can lose the
//! processor, the least urgent client delays the most urgent one, for as long as the maximum of
//! that one's line shows. With --merge the documents of several machines become one table.
use crate::cell::output_of;
use crate::chart::{self, Chart, Line};
use crate::daemon::{self, Scratch};
use crate::document;
use crate::figures::{curve, histogram_of, quantiles};
use crate::peer::{binder_program, Device};
use crate::scheduling::{Policy, SchedulingOptions};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
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

    /// Measure nothing; print one table of these documents
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["device", "no_reclaim"])]
    merge: Vec<PathBuf>,

    #[command(flatten)]
    scheduling: SchedulingOptions,

    /// Directory for alloc.json and alloc.svg
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// The figures of the clients of one priority.
#[derive(Deserialize, Serialize)]
struct Class {
    class: String,
    calls: u64,
    min_us: f64,
    avg_us: f64,
    max_us: f64,
    #[serde(default)]
    histogram_ns: Vec<(u64, u64)>,
}

/// What bench-ipc prints.
#[derive(Deserialize)]
struct Measured {
    classes: Vec<Class>,
}

/// One measurement of one driver.
#[derive(Deserialize, Serialize)]
struct Run {
    label: String,
    machine: Value,
    duration_ms: u64,
    clients: u32,
    load: u32,
    load_nice: i32,
    /// How often reclaim was requested.
    reclaims: u64,
    classes: Vec<Class>,
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

fn measure(label: &str, device: &str, arguments: &Arguments) -> Result<Run> {
    let mut command = Command::new(binder_program()?);
    command
        .args(["alloc", "--address", device])
        .args(["--duration-ms", &arguments.duration_ms.to_string()])
        .args(["--delay-us", &arguments.rest_us.to_string()])
        .args(["--pairs", &arguments.clients.to_string()])
        .args(arguments.scheduling.arguments());
    for class in &arguments.classes {
        command.args(["--class", class.name()]);
    }
    let (background, reclaims) = disturb(arguments)?;
    let text = output_of(command)?;
    drop(background);
    let measured: Measured =
        serde_json::from_str(&text).doing(|| "reading the clients' figures".to_string())?;
    Ok(Run {
        label: label.to_string(),
        machine: document::machine(),
        duration_ms: arguments.duration_ms,
        clients: arguments.clients,
        load: arguments.load,
        load_nice: arguments.load_nice,
        reclaims: reclaims.load(Ordering::Relaxed),
        classes: measured.classes,
    })
}

fn measure_one(arguments: &Arguments) -> Result<Run> {
    if let Some(device) = &arguments.device {
        arguments.scheduling.apply()?;
        return measure(device.label(), device.path(), arguments);
    }
    daemon::gain_mount_right()?;
    arguments.scheduling.apply()?;
    let scratch = Scratch::new()?;
    let daemon = daemon::anybinderd(&scratch.0)?;
    measure("anybinderd", &daemon.address, arguments)
}

#[derive(Deserialize)]
struct Document {
    runs: Vec<Run>,
}

fn read_runs(paths: &[PathBuf]) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).doing(|| format!("reading {}", path.display()))?;
        let document: Document =
            serde_json::from_str(&text).doing(|| format!("reading {}", path.display()))?;
        runs.extend(document.runs);
    }
    Ok(runs)
}

fn document_of(runs: &[Run]) -> Result<Value> {
    let mut documents = Vec::new();
    for run in runs {
        let mut value = serde_json::to_value(run).expect("own types become JSON");
        for (class, out) in run
            .classes
            .iter()
            .zip(value["classes"].as_array_mut().into_iter().flatten())
        {
            let histogram = histogram_of(class.histogram_ns.iter().copied())?;
            out["quantiles"] = quantiles(&histogram);
        }
        documents.push(value);
    }
    Ok(json!({ "bench": "alloc", "runs": documents }))
}

fn print_table(runs: &[Run]) -> Result<()> {
    println!("ms per call");
    println!(
        "{:18}{:10}{:>8}{:>10}{:>10}{:>10}{:>10}{:>11}",
        "driver", "class", "calls", "avg", "max", "min", "p99", "p99.9"
    );
    for run in runs {
        for class in &run.classes {
            let histogram = histogram_of(class.histogram_ns.iter().copied())?;
            let tail_ms = |share: f64| histogram.value_at_quantile(share) as f64 / 1e6;
            println!(
                "{:18}{:10}{:>8}{:>10.3}{:>10.3}{:>10.3}{:>10.3}{:>11.3}",
                run.label,
                class.class,
                class.calls,
                class.avg_us / 1000.0,
                class.max_us / 1000.0,
                class.min_us / 1000.0,
                tail_ms(0.99),
                tail_ms(0.999),
            );
        }
    }
    let reclaims: Vec<String> = runs
        .iter()
        .map(|run| format!("{} {}", run.label, run.reclaims))
        .collect();
    println!("reclaim was requested: {}", reclaims.join(", "));
    Ok(())
}

/// A chart for each driver, a line for each class.
fn draw(runs: &[Run], path: &Path) -> chart::Outcome {
    let mut names: Vec<String> = Vec::new();
    let mut charts = Vec::new();
    for run in runs {
        let mut lines = Vec::new();
        for class in &run.classes {
            if !names.contains(&class.class) {
                names.push(class.class.clone());
            }
            let histogram = histogram_of(class.histogram_ns.iter().copied())?;
            lines.push(Line {
                bars: Vec::new(),
                name: class.class.clone(),
                points: chart::tail_points(curve(&histogram)),
            });
        }
        charts.push(Chart {
            title: format!("{}: duration of a call", run.label),
            x: "share of calls",
            y: "us",
            ticks: chart::tail_ticks(),
            lines,
        });
    }
    chart::draw(path, &charts, 2.min(charts.len()), &names, &[])
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    let runs = if arguments.merge.is_empty() {
        vec![measure_one(arguments)?]
    } else {
        read_runs(&arguments.merge)?
    };
    let document = document_of(&runs)?;
    document::publish(
        context,
        arguments.output.as_deref(),
        "alloc",
        &document,
        |path| draw(&runs, path),
        || print_table(&runs),
    )?;
    Ok(ExitCode::SUCCESS)
}
