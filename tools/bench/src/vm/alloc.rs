// SPDX-License-Identifier: Apache-2.0
//! Allocator contention by kernel and driver.
//!
//! Stock 6.1 protects its buffer allocator with a mutex, stock 6.12 with a spinlock. All machines
//! have the same settings: one processor, a fully preemptible kernel, and the clock that counts.
//! File reads on the host take their own time, so no two rounds are the same, and a maximum is one
//! event of twenty thousand: there are several rounds, all are reported, and the worst round of a
//! driver stands beside the best of the first one. Before each round the same clients make calls
//! undisturbed: the regular path, which must not get slower.
use super::{boot, DRIVERS};
use crate::alloc::{published, Run};
use crate::cell::{own_program, parse};
use crate::document::{cores, Output, Part};
use crate::machine::PREEMPTIBLE;
use crate::table::Table;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use serde::Deserialize;

const URGENT: &str = "fifo:99";
/// The load is much more urgent than the least urgent client, so that a client preempted while it
/// holds a lock waits long for the processor.
const CALM: &str = "--no-reclaim --load 0 --duration-ms 500";
const BUSY: &str = "--load-nice -10 --duration-ms";
/// The clock jumps to the next timer whenever the guest is idle, also while it waits for a file of
/// the host: on a busy host minutes pass for it while a program is loaded. Something that never
/// sleeps, of the lowest priority there is, makes its time a number of instructions.
const NEVER_IDLE: &str = "(while :; do :; done) & chrt --idle --pid 0 $! && echo";
/// The limit of guest time: a part of a round that takes longer hangs, however busy the host is.
const PART_LIMIT_S: u32 = 60;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Kernels of vm/kernels.tsv
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "6.1,6.12"
    )]
    kernels: Vec<String>,

    /// Drivers of vm/run; the first is what the others are compared with
    #[arg(long, value_name = "DRIVER,...", value_delimiter = ',',
          default_value = "stock,module", value_parser = DRIVERS)]
    drivers: Vec<String>,

    /// Of guest time, of a round
    #[arg(long, value_name = "MS", default_value_t = 3000)]
    duration_ms: u64,

    /// Rounds on each machine
    #[arg(long, value_name = "COUNT", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    output: Output,
}

/// The rounds of one machine.
#[derive(Default)]
struct Rounds {
    calm: Vec<Run>,
    busy: Vec<Run>,
}

impl Rounds {
    /// A figure of the urgent clients in each of some rounds.
    fn urgent(runs: &[Run], figure: fn(&crate::durations::Durations) -> f64) -> Vec<f64> {
        runs.iter()
            .filter_map(|run| run.class(URGENT).map(figure))
            .collect()
    }

    fn worst_us(&self) -> Vec<f64> {
        Rounds::urgent(&self.busy, |one| one.max_us())
    }

    fn calm_us(&self) -> f64 {
        let all = Rounds::urgent(&self.calm, |one| one.avg_us());
        all.iter().sum::<f64>() / all.len() as f64
    }
}

#[derive(Deserialize)]
struct Document {
    runs: Vec<Run>,
}

fn measure(arguments: &Arguments, kernel: &str, driver: &str) -> Result<Rounds> {
    let label = format!("{driver} {kernel}");
    let options = [&["--icount"], &PREEMPTIBLE[..]].concat();
    let machine = boot(kernel, driver, &options)?;
    let mut machine = machine.lock().expect("nobody panics in a machine");
    machine.run(NEVER_IDLE)?;
    let program = own_program()?;
    let mut rounds = Rounds::default();
    let mut part = |options: &str| -> Result<Vec<Run>> {
        let text = machine.run(&format!(
            "timeout --verbose -k 5 {PART_LIMIT_S} {} --json bench alloc --device \
             '{label}=/dev/binder' --server-sched fifo:98 {options} >/tmp/document && \
             echo $(cat /tmp/document)",
            program.display()
        ))?;
        Ok(parse::<Document>(&text)?.runs)
    };
    for round in 0..arguments.rounds {
        eprintln!("{label}: round {} of {}", round + 1, arguments.rounds);
        rounds.calm.extend(part(CALM)?);
        rounds
            .busy
            .extend(part(&format!("{BUSY} {}", arguments.duration_ms))?);
    }
    Ok(rounds)
}

/// What the most urgent clients see, a row for each machine, beside the first driver.
fn judge(found: &[(String, Rounds)]) -> Result<Table> {
    let mut table = Table::new([
        format!("{URGENT}, ms"),
        "undisturbed: avg".into(),
        "to first".into(),
        "reclaim: max of each round".into(),
        "first's worst / this worst".into(),
        "first's best / this worst".into(),
    ]);
    let (_, first) = found
        .first()
        .ok_or_else(|| Error::new("No driver was measured."))?;
    let high = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    for (label, rounds) in found {
        let worst = rounds.worst_us();
        let low = first.worst_us().into_iter().fold(f64::MAX, f64::min);
        let each: Vec<String> = worst
            .iter()
            .map(|us| format!("{:.3}", us / 1000.0))
            .collect();
        table.row([
            label.clone(),
            format!("{:.3}", rounds.calm_us() / 1000.0),
            format!("{:.2}", rounds.calm_us() / first.calm_us()),
            each.join(", "),
            format!("{:.1}", high(&first.worst_us()) / high(&worst)),
            format!("{:.1}", low / high(&worst)),
        ]);
    }
    Ok(table)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<()> {
    let kernels = arguments.kernels.iter();
    let machines: Vec<(&String, &String)> = kernels
        .flat_map(|kernel| arguments.drivers.iter().map(move |driver| (kernel, driver)))
        .collect();
    let mut found = Vec::new();
    // As many at a time as there are processors.
    for some in machines.chunks(cores()) {
        let measured = std::thread::scope(|scope| {
            let threads: Vec<_> = some
                .iter()
                .map(|(kernel, driver)| scope.spawn(|| measure(arguments, kernel, driver)))
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined
                .map(|one| one.expect("a measuring thread does not panic"))
                .collect::<Result<Vec<_>>>()
        });
        let labels = some
            .iter()
            .map(|(kernel, driver)| format!("{driver} {kernel}"));
        found.extend(labels.zip(measured?));
    }
    let sums = found
        .iter()
        .filter_map(|(_, rounds)| Run::sum(&rounds.busy));
    let mut figures = published(&sums.collect::<Vec<_>>());
    figures.parts.push(Part::Table(judge(&found)?));
    figures.publish(context, &arguments.output)
}
