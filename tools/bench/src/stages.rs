// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench stages`: a timestamp at each stage of a round trip.
//!
//! The two ends record when they send, receive, reply and are done (bench/calls.c); the driver
//! records the stages inside. The cost of recording is the difference to round trips without it,
//! made in turn.
use crate::cell::{parse, Cell, Length, Size};
use crate::daemon::{self, Scratch};
use crate::document::{self, Output, Published};
use crate::durations::Durations;
use crate::figures::median;
use crate::peer::Peer;
use crate::progress::Progress;
use crate::table::Table;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::interrupt;
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod recorder;
mod round_trips;

use recorder::Recorder;
use round_trips::{join, Ends, Row, Step, STAGES};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Round trips of a round
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 2000,
          value_parser = clap::value_parser!(u64).range(1..=4000))]
    calls: u64,

    /// Rounds, each without and with recording
    #[arg(long, value_name = "COUNT", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Bytes of a call: both ways, or REQUEST/REPLY
    #[arg(long, value_name = "SIZE", default_value = "0")]
    size: Size,

    /// The binder device to measure, instead of an anybinderd of its own
    #[arg(long, value_name = "PATH")]
    device: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// The figures of all rounds.
struct Results {
    /// Complete round trips, each with the number of its round.
    rows: Vec<(u32, Row)>,
    /// The median of each round without and with recording.
    without_us: Vec<f64>,
    with_us: Vec<f64>,
}

fn exchange(device: &Path, arguments: &Arguments) -> Result<Ends> {
    interrupt::check()?;
    let cell = Cell {
        size: arguments.size,
        length: Length::Calls(arguments.calls),
        ..Cell::default()
    };
    let peer = Peer::plain("stages", "stages", Some(&device.to_string_lossy()))?;
    parse(&peer.print(&cell)?)
}

fn measure(device: &Path, arguments: &Arguments) -> Result<Results> {
    let recorder = Recorder::of(device)?;
    let mut results = Results {
        rows: Vec::new(),
        without_us: Vec::new(),
        with_us: Vec::new(),
    };
    let mut progress = Progress::new(u64::from(arguments.rounds) * 2);
    for round in 0..arguments.rounds {
        progress.at(&format!("round {}: without recording", round + 1));
        let ends = exchange(device, arguments)?;
        results.without_us.extend(ends.round_trip_us());
        progress.step();
        progress.at(&format!("round {}: with recording", round + 1));
        recorder.start()?;
        let ends = exchange(device, arguments)?;
        let records = recorder.stop()?;
        results.with_us.extend(ends.round_trip_us());
        let rows = join(&ends, &records);
        results
            .rows
            .extend(rows.into_iter().map(|row| (round, row)));
        progress.step();
    }
    if results.rows.is_empty() {
        return Err(Error::with_advice(
            "No round trip was recorded from end to end.",
            "Records were lost; try with a smaller -n.",
        ));
    }
    Ok(results)
}

impl Results {
    fn steps(&self) -> Result<Vec<Step>> {
        let one = |step: usize| {
            let mut times = Durations::default();
            for (_, row) in &self.rows {
                times.record(row[step + 1].saturating_sub(row[step]))?;
            }
            Ok(Step {
                name: format!("{} to {}", STAGES[step], STAGES[step + 1]),
                avg_us: times.avg_us(),
                p50_us: times.quantile_us(0.5),
                p99_us: times.quantile_us(0.99),
                share: 0.0,
            })
        };
        let mut steps: Vec<Step> = (0..STAGES.len() - 1).map(one).collect::<Result<_>>()?;
        let total_us: f64 = steps.iter().map(|step| step.p50_us).sum();
        for step in &mut steps {
            step.share = step.p50_us / total_us.max(f64::MIN_POSITIVE);
        }
        Ok(steps)
    }

    /// Medians without and with recording, and of the ratios within the rounds.
    fn cost(&self) -> Option<(f64, f64, f64)> {
        let both = self.with_us.iter().zip(&self.without_us);
        let ratios = both.map(|(with, without)| with / without).collect();
        Some((
            median(self.without_us.clone())?,
            median(self.with_us.clone())?,
            median(ratios)?,
        ))
    }

    /// The number of the round of each round trip, and the time of each stage, in ns since the
    /// first.
    fn rows(&self) -> Vec<(u32, Row)> {
        let rows = self.rows.iter();
        let since_first = |row: &Row| row.map(|time_ns| time_ns.saturating_sub(row[0]));
        rows.map(|(round, row)| (*round, since_first(row)))
            .collect()
    }
}

fn document_of(results: &Results, steps: &[Step], arguments: &Arguments) -> Value {
    let cost = results.cost();
    json!({
        "bench": "stages",
        "machine": document::machine(),
        "rounds": arguments.rounds,
        "round_trips": u64::from(arguments.rounds) * arguments.calls,
        "complete": results.rows.len(),
        "request_bytes": arguments.size.request_bytes,
        "reply_bytes": arguments.size.reply_bytes,
        "steps": steps,
        "stages": STAGES,
        "rows": results.rows(),
        "without_recording_us": cost.map(|cost| cost.0),
        "with_recording_us": cost.map(|cost| cost.1),
        "recording_ratio": cost.map(|cost| cost.2),
    })
}

fn table_of(steps: &[Step]) -> Table {
    let mut table = Table::new(["", "avg us", "p50 us", "p99 us", "share"]);
    for step in steps {
        let times = [step.avg_us, step.p50_us, step.p99_us].map(|us| format!("{us:.2}"));
        let share = format!("{:.1} %", step.share * 100.0);
        table.row([step.name.clone()].into_iter().chain(times).chain([share]));
    }
    let sum = |figure: fn(&Step) -> f64| format!("{:.2}", steps.iter().map(figure).sum::<f64>());
    table.row([
        "in all".to_string(),
        sum(|step| step.avg_us),
        sum(|step| step.p50_us),
    ]);
    table
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    let results = match &arguments.device {
        Some(device) => measure(device, arguments)?,
        None => {
            daemon::gain_mount_right()?;
            let scratch = Scratch::new()?;
            let daemon = daemon::anybinderd(&scratch.0)?;
            measure(Path::new(&daemon.address), arguments)?
        }
    };
    let steps = results.steps()?;
    let mut text = format!(
        "{} of {} round trips recorded from end to end, {} each way\n\n{}\n",
        results.rows.len(),
        u64::from(arguments.rounds) * arguments.calls,
        arguments.size,
        table_of(&steps).text()
    );
    if let Some((without_us, with_us, ratio)) = results.cost() {
        text += &format!(
            "round trip (p50): {without_us:.2} us without recording, {with_us:.2} us with it, \
             {ratio:.2} x within a round\n"
        );
    }
    let figures = Published {
        name: "stages",
        document: document_of(&results, &steps, arguments),
        picture: None,
        text,
    };
    figures.publish(context, &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}
