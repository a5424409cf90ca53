// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench stages`: a timestamp at each point of a round trip.
//!
//! The two ends note when they send, receive, reply and are done (bench/stages.c); the driver notes
//! the points inside (see the recorder). Here both are put into one row for each round trip. What
//! the recording itself costs shows in round trips with and without it, made in turn.
use crate::cell::{output_of, SeatOptions, Size};
use crate::daemon::{self, Scratch};
use crate::figures::{histogram_of, median};
use crate::peer::binder_program;
use crate::progress::Progress;
use crate::recorder::{Record, Recorder, Stage};
use crate::waterfall;
use anybinder_mount::context::Context;
use anybinder_mount::interrupt;
use anybinder_mount::trouble::{Doing, Result, Trouble};
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub const STAGES: [&str; 15] = [
    "C_SEND", "K_IOC", "K_WR_IN", "K_ENQ", "K_DEQ", "K_COPY", "S_RECV", "S_REPLY", "K_IOC",
    "K_WR_IN", "K_ENQ", "K_DEQ", "K_COPY", "C_RECV", "C_EXIT",
];

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

    /// The binder device to look into, instead of an anybinderd of its own
    #[arg(long, value_name = "PATH")]
    device: Option<PathBuf>,

    /// Write a line for each round trip into FILE, ns from C_SEND on (- for standard output)
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,

    #[command(flatten)]
    seats: SeatOptions,

    /// Directory for stages.json and stages.svg
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// What the two ends saw.
#[derive(Deserialize)]
struct Ends {
    client: i32,
    server: i32,
    /// C_SEND, S_RECV, S_REPLY, C_RECV, C_EXIT of each call.
    rows: Vec<[u64; 5]>,
}

impl Ends {
    fn round_trip_us(&self) -> Option<f64> {
        let times = self
            .rows
            .iter()
            .map(|row| (row[4] - row[0]) as f64 / 1000.0);
        median(times.collect())
    }
}

/// A round trip: when it was at each of STAGES, in ns.
type Row = [u64; STAGES.len()];

/// The driver's records by what they are about.
struct Index {
    by_transaction: HashMap<(Stage, u32), u64>,
    /// Of each answered transaction, the answer.
    answers: HashMap<u32, u32>,
    /// System calls of each thread, in order of time.
    ioctls: HashMap<i32, Vec<u64>>,
}

impl Index {
    fn new(records: &[Record]) -> Self {
        let mut index = Index {
            by_transaction: HashMap::new(),
            answers: HashMap::new(),
            ioctls: HashMap::new(),
        };
        for record in records {
            if record.stage == Stage::Ioctl {
                let calls = index.ioctls.entry(record.thread).or_default();
                calls.push(record.time_ns);
                continue;
            }
            if record.reply_to != 0 {
                index.answers.insert(record.reply_to, record.transaction);
            }
            let key = (record.stage, record.transaction);
            index.by_transaction.insert(key, record.time_ns);
        }
        index
    }

    fn last_ioctl(&self, thread: i32, before_ns: u64) -> Option<u64> {
        let calls = self.ioctls.get(&thread)?;
        let count = calls.partition_point(|time_ns| *time_ns <= before_ns);
        calls.get(count.checked_sub(1)?).copied()
    }

    /// One way of a round trip: the five points of a transaction that `thread` sent.
    fn way(&self, transaction: u32, thread: i32) -> Option<[u64; 5]> {
        let at = |stage| self.by_transaction.get(&(stage, transaction)).copied();
        let write_in = at(Stage::WriteIn)?;
        Some([
            self.last_ioctl(thread, write_in)?,
            write_in,
            at(Stage::Enqueue)?,
            at(Stage::Dequeue)?,
            at(Stage::Copy)?,
        ])
    }

    /// The round trip that the client's transaction began, if `ends` fits around it.
    fn row(&self, ends: &Ends, client_row: &[u64; 5], transaction: u32) -> Option<Row> {
        let there = self.way(transaction, ends.client)?;
        let back = self.way(*self.answers.get(&transaction)?, ends.server)?;
        let [send, received, reply, returned, exit] = *client_row;
        let mut row = [0; STAGES.len()];
        row[0] = send;
        row[1..6].copy_from_slice(&there);
        row[6] = received;
        row[7] = reply;
        row[8..13].copy_from_slice(&back);
        row[13] = returned;
        row[14] = exit;
        Some(row)
    }
}

/// Rows of the round trips of which every point is known.
fn join(ends: &Ends, records: &[Record]) -> Vec<Row> {
    let index = Index::new(records);
    let sent = records
        .iter()
        .filter(|record| record.stage == Stage::WriteIn && record.thread == ends.client);
    let rows = sent.filter_map(|record| {
        let count = ends.rows.partition_point(|row| row[0] <= record.time_ns);
        let client_row = ends.rows.get(count.checked_sub(1)?)?;
        if record.time_ns > client_row[3] {
            return None;
        }
        index.row(ends, client_row, record.transaction)
    });
    rows.collect()
}

/// What all rounds came to.
struct Results {
    rows: Vec<(u32, Row)>,
    without_us: Vec<f64>,
    with_us: Vec<f64>,
}

/// A step: from one stage to the next.
pub struct Step {
    pub name: String,
    pub avg_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    /// Of the sum of all p50s: averages are those of the few calls in which something else ran.
    pub share: f64,
}

fn exchange(device: &Path, arguments: &Arguments) -> Result<Ends> {
    interrupt::check()?;
    let mut command = Command::new(binder_program()?);
    command
        .args(["stages", "--address"])
        .arg(device)
        .args(["--calls", &arguments.calls.to_string()])
        .args(["--request", &arguments.size.request_bytes.to_string()])
        .args(["--reply", &arguments.size.reply_bytes.to_string()])
        .args(arguments.seats.arguments());
    let text = output_of(command)?;
    serde_json::from_str(&text).doing(|| "reading what the two ends saw".to_string())
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
        progress.at(format!("round {}: without recording", round + 1));
        let ends = exchange(device, arguments)?;
        results.without_us.extend(ends.round_trip_us());
        progress.step();
        progress.at(format!("round {}: with recording", round + 1));
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
        return Err(Trouble::new("No round trip was recorded from end to end."));
    }
    Ok(results)
}

impl Results {
    fn steps(&self) -> Result<Vec<Step>> {
        let count = self.rows.len() as f64;
        let one = |step: usize| {
            let times = || {
                self.rows
                    .iter()
                    .map(move |(_, row)| row[step + 1].saturating_sub(row[step]))
            };
            let histogram = histogram_of(times().map(|time_ns| (time_ns, 1)))?;
            let sum_ns: u64 = times().sum();
            Ok(Step {
                name: format!("{} to {}", STAGES[step], STAGES[step + 1]),
                avg_us: sum_ns as f64 / count / 1000.0,
                p50_us: histogram.value_at_quantile(0.5) as f64 / 1000.0,
                p99_us: histogram.value_at_quantile(0.99) as f64 / 1000.0,
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

    /// The rows as text: a heading, then a line for each round trip.
    fn table(&self) -> String {
        let mut text = format!("round\t{}\n", STAGES.join("\t"));
        for (round, row) in &self.rows {
            text += &round.to_string();
            for time_ns in row {
                text += &format!("\t{}", time_ns.saturating_sub(row[0]));
            }
            text.push('\n');
        }
        text
    }
}

fn document(results: &Results, steps: &[Step], arguments: &Arguments) -> Value {
    let steps: Vec<Value> = steps
        .iter()
        .map(|step| {
            json!({ "step": step.name, "avg_us": step.avg_us, "p50_us": step.p50_us,
                    "p99_us": step.p99_us, "share": step.share })
        })
        .collect();
    let cost = results.cost();
    json!({
        "bench": "stages",
        "machine": crate::machine(),
        "rounds": arguments.rounds,
        "round_trips": u64::from(arguments.rounds) * arguments.calls,
        "complete": results.rows.len(),
        "request_bytes": arguments.size.request_bytes,
        "reply_bytes": arguments.size.reply_bytes,
        "steps": steps,
        "without_recording_us": cost.map(|cost| cost.0),
        "with_recording_us": cost.map(|cost| cost.1),
        "recording_ratio": cost.map(|cost| cost.2),
    })
}

fn print_summary(results: &Results, steps: &[Step], arguments: &Arguments) {
    println!(
        "{} of {} round trips recorded from end to end, {} each way; us",
        results.rows.len(),
        u64::from(arguments.rounds) * arguments.calls,
        arguments.size
    );
    println!(
        "{:20}{:>9}{:>9}{:>9}{:>8}",
        "", "avg", "p50", "p99", "share"
    );
    for step in steps {
        println!(
            "{:20}{:>9.2}{:>9.2}{:>9.2}{:>6.1} %",
            step.name,
            step.avg_us,
            step.p50_us,
            step.p99_us,
            step.share * 100.0
        );
    }
    let sum = |figure: fn(&Step) -> f64| steps.iter().map(figure).sum::<f64>();
    let (avg_us, p50_us) = (sum(|step| step.avg_us), sum(|step| step.p50_us));
    println!("{:20}{avg_us:>9.2}{p50_us:>9.2}", "in all");
    if let Some((without_us, with_us, ratio)) = results.cost() {
        println!(
            "round trip (p50): {without_us:.2} without recording, {with_us:.2} with it, \
             {ratio:.2} x within a round"
        );
    }
}

fn write_rows(results: &Results, path: &Path) -> Result<()> {
    if path == Path::new("-") {
        print!("{}", results.table());
        return Ok(());
    }
    std::fs::write(path, results.table()).doing(|| format!("writing {}", path.display()))
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::outlive();
    let results = match &arguments.device {
        Some(device) => {
            arguments.seats.take()?;
            measure(device, arguments)?
        }
        None => {
            crate::gain_mount_right()?;
            arguments.seats.take()?;
            let scratch = Scratch::new()?;
            let daemon = daemon::anybinderd(&scratch.0, &[])?;
            measure(Path::new(&daemon.address), arguments)?
        }
    };
    let steps = results.steps()?;
    if let Some(path) = &arguments.rows {
        write_rows(&results, path)?;
    }
    let document = document(&results, &steps, arguments);
    if let Some(directory) = &arguments.output {
        crate::save_json(directory, "stages.json", &document)?;
        let path = directory.join("stages.svg");
        waterfall::draw(&path, &steps).doing(|| format!("drawing {}", path.display()))?;
    }
    if context.json {
        context.show(&document, |_| {});
    } else {
        print_summary(&results, &steps, arguments);
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stage: Stage, time_ns: u64, transaction: u32, reply_to: u32, thread: i32) -> Record {
        Record {
            stage,
            time_ns,
            transaction,
            reply_to,
            thread,
        }
    }

    /// A round trip of client 1 and server 2, with the server's freeing of a buffer on the way.
    fn records() -> Vec<Record> {
        vec![
            record(Stage::Ioctl, 11, 0, 0, 1),
            record(Stage::WriteIn, 12, 5, 0, 1),
            record(Stage::Enqueue, 13, 5, 0, 1),
            record(Stage::Dequeue, 14, 5, 0, 2),
            record(Stage::Copy, 15, 5, 0, 2),
            record(Stage::Ioctl, 17, 0, 0, 2),
            record(Stage::Ioctl, 18, 0, 0, 2),
            record(Stage::WriteIn, 19, 6, 0, 2),
            record(Stage::Enqueue, 20, 6, 5, 2),
            record(Stage::Dequeue, 21, 6, 0, 1),
            record(Stage::Copy, 22, 6, 0, 1),
        ]
    }

    fn ends() -> Ends {
        Ends {
            client: 1,
            server: 2,
            rows: vec![[1, 3, 4, 6, 7], [10, 16, 17, 23, 24]],
        }
    }

    #[test]
    fn a_round_trip_is_put_together() {
        let rows = join(&ends(), &records());
        let wanted = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24];
        assert_eq!(rows, [wanted]);
    }

    #[test]
    fn a_round_trip_with_a_gap_is_left_out() {
        for missing in 0..records().len() {
            let mut some = records();
            let gone = some.remove(missing);
            // The server's first system call is not the one that replied.
            let wanted = usize::from(gone.time_ns == 17 || gone.time_ns == 18);
            assert_eq!(join(&ends(), &some).len(), wanted, "without {gone:?}");
        }
    }
}
