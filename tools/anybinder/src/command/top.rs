// SPDX-License-Identifier: Apache-2.0
//! `anybinder top`: the processes that have a device open, by what they do: calls per second,
//! waiting calls, busy threads, buffers, references. It compares samples of `binder_logs/stats` and
//! `binder_logs/state`, which every driver has.
mod sample;
mod screen;

use anybinder_client::device::DeviceOption;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Kind, Result};
use clap::ValueEnum;
use sample::{Row, Sampler};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    Calls,
    Waiting,
    Threads,
    Buffers,
    References,
    Pid,
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print one table and end
    #[arg(long)]
    pub once: bool,

    /// The time between two samples
    #[arg(long, value_name = "MS", default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(50..=60_000))]
    interval_ms: u64,

    #[arg(long, value_enum, default_value_t = Sort::Calls)]
    sort: Sort,

    /// Only processes whose pid, command or services contain this
    #[arg(long, value_name = "WORD")]
    filter: Option<String>,

    /// After how many milliseconds a call counts as hanging
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    hanging_ms: u64,

    #[command(flatten)]
    device: DeviceOption,
}

impl Sort {
    /// The next one, in a circle.
    fn next(self) -> Sort {
        let all = Sort::value_variants();
        let at = all.iter().position(|one| *one == self).unwrap_or(0);
        all[(at + 1) % all.len()]
    }

    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_string())
    }

    fn apply(self, rows: &mut [Row]) {
        rows.sort_by(|a, b| {
            let by = match self {
                Sort::Calls => {
                    (b.received_per_s + b.sent_per_s).total_cmp(&(a.received_per_s + a.sent_per_s))
                }
                Sort::Waiting => b.waiting.cmp(&a.waiting),
                Sort::Threads => b.busy.cmp(&a.busy),
                Sort::Buffers => b.buffer_bytes.cmp(&a.buffer_bytes),
                Sort::References => b.references.cmp(&a.references),
                Sort::Pid => a.pid.cmp(&b.pid),
            };
            by.then(a.pid.cmp(&b.pid))
        });
    }
}

/// A heading for 80 columns; latencies are measured by `anybinder trace --summary`.
const HEADING: &str = "    PID COMMAND        SERVED/S   SENT/S WAIT   BUSY  BUFFER   REFS  MARKS";

fn bytes(number: u64) -> String {
    match number {
        0..1024 => format!("{number}"),
        1024..1_048_576 => format!("{}K", number / 1024),
        _ => format!("{}M", number / 1_048_576),
    }
}

/// A line of the table.
fn line(row: &Row) -> String {
    let command: String = row.command.chars().take(14).collect();
    format!(
        "{:>7} {command:<14} {:>8.0} {:>8.0} {:>4} {:>3}/{:<3} {:>6} {:>6}  {}",
        row.pid,
        row.received_per_s,
        row.sent_per_s,
        row.waiting,
        row.busy,
        row.threads,
        bytes(row.buffer_bytes),
        row.references,
        row.marks.join(", ")
    )
    .trim_end()
    .to_string()
}

fn print(rows: &[Row]) {
    println!("{HEADING}");
    for row in rows {
        println!("{}", line(row));
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let interval = Duration::from_millis(arguments.interval_ms);
    let mut sampler = Sampler::new(context, &arguments.device.device, arguments.hanging_ms)?;
    if arguments.once || context.json {
        std::thread::sleep(interval);
        let mut rows = sampler.sample()?;
        if let Some(word) = &arguments.filter {
            rows.retain(|row| row.matches(word));
        }
        arguments.sort.apply(&mut rows);
        context.show(&rows, |rows| print(rows));
        return Ok(ExitCode::SUCCESS);
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Error::with_advice(
            "Standard input and output are no terminal.",
            "For a script use `anybinder top --once`, or --json.",
        )
        .of(Kind::Usage));
    }
    screen::run(sampler, interval, arguments.sort, arguments.filter.clone())?;
    Ok(ExitCode::SUCCESS)
}
