// SPDX-License-Identifier: Apache-2.0
//! The rows as text of at most 80 columns.
use super::arguments::{Sort, View};
use super::rows::{Caller, Mark, Method, ProcessRow, Sample, ServiceRow};
use crate::command::observing::system::meter::Latency;
use crate::command::observing::system::text::{code_name, short_time};
use anybinder_mount::harmless::harmless;

pub const WIDTH: usize = 80;

pub const PROCESSES: &str =
    "    PID COMMAND      SERVED   SENT   P50   P99 WAIT  BUSY  BUF  REFS  MARKS";
pub const SERVICES: &str =
    "SERVICE                            PID COMMAND       CALLS  ERR   P50   P99 WAIT";
const METHODS: &str = "METHOD          CALLS   ERR   P50   P99   MAX  QUEUED   BYTES";
const CALLERS: &str = "    PID CALLER       CALLS   P50   P99";

/// A number in at most five columns.
fn short(number: f64) -> String {
    match number {
        n if n < 99_999.5 => format!("{n:.0}"),
        n if n < 9_999_500.0 => format!("{:.0}k", n / 1e3),
        n => format!("{:.0}M", n / 1e6),
    }
}

fn bytes(number: u64) -> String {
    match number {
        0..1024 => format!("{number}"),
        1024..1_048_576 => format!("{}K", number / 1024),
        _ => format!("{}M", number / 1_048_576),
    }
}

fn times(latency: Option<Latency>) -> (String, String) {
    match latency {
        Some(latency) => (short_time(latency.p50_us), short_time(latency.p99_us)),
        None => ("-".to_string(), "-".to_string()),
    }
}

fn rate(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_string(), short)
}

/// The beginning of a text, or with `tail` its end, which tells long names apart.
fn cut(text: &str, width: usize, tail: bool) -> String {
    let text = harmless(text);
    let length = text.chars().count();
    match (length <= width, tail) {
        (true, _) => text,
        (false, false) => text.chars().take(width).collect(),
        (false, true) => {
            let end: String = text.chars().skip(length - width + 1).collect();
            format!("~{end}")
        }
    }
}

/// As many words as fit in each line; the next lines are indented.
fn fold(text: &str) -> Vec<String> {
    let text = harmless(text);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("    {word}"));
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

pub fn process(row: &ProcessRow) -> String {
    let (p50, p99) = times(row.latency());
    let marks = match row.marks.as_slice() {
        [] => String::new(),
        [mark] => (*mark).to_string(),
        [mark, ..] => format!("{mark}+"),
    };
    let line = format!(
        "{:>7} {:<12} {:>6} {:>6} {p50:>5} {p99:>5} {:>4} {:>5} {:>4} {:>5}  {marks}",
        row.pid,
        cut(&row.command, 12, false),
        short(row.received_per_s),
        short(row.sent_per_s),
        row.waiting,
        format!("{}/{}", row.busy, row.threads),
        bytes(row.buffer_bytes),
        row.references,
    );
    cut(line.trim_end(), WIDTH, false)
}

pub fn service(row: &ServiceRow) -> String {
    let (p50, p99) = times(row.latency);
    let line = format!(
        "{:<30} {:>7} {:<12} {:>6} {:>4} {p50:>5} {p99:>5} {:>4}",
        cut(&row.name, 30, true),
        row.pid,
        cut(&row.command, 12, false),
        rate(row.calls_per_s),
        rate(row.errors_per_s),
        row.waiting,
    );
    cut(line.trim_end(), WIDTH, false)
}

fn method(row: &Method) -> String {
    let (p50, p99) = times(row.latency);
    let max = row
        .latency
        .map_or_else(|| "-".to_string(), |all| short_time(all.max_us));
    let name = code_name(row.code);
    let name = match row.is_oneway {
        true => format!("{name} one-way"),
        false => name,
    };
    format!(
        "{name:<14} {:>6} {:>5} {p50:>5} {p99:>5} {max:>5}   {:>5}   {:>5}",
        short(row.calls_per_s),
        short(row.errors_per_s),
        times(row.queued).0,
        bytes(row.bytes_per_s as u64)
    )
}

fn caller(row: &Caller) -> String {
    let (p50, p99) = times(row.latency);
    let note = match row.has_handle {
        true => "",
        false => "  has no handle any more",
    };
    format!(
        "{:>7} {:<12} {:>5} {p50:>5} {p99:>5}{note}",
        row.pid,
        cut(&row.command, 12, false),
        rate(row.calls_per_s)
    )
}

fn mark(mark: &Mark) -> Vec<String> {
    fold(&format!(
        "{} {} {}: {}",
        mark.mark, mark.pid, mark.command, mark.why
    ))
}

/// What is wrong, in lines.
pub fn marks(marks: &[Mark]) -> Vec<String> {
    marks.iter().flat_map(mark).collect()
}

/// What cannot be seen, in a line.
pub fn notes(sample: &Sample) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(why) = &sample.no_latencies {
        notes.push(format!("no latencies: {why}"));
    }
    if sample.lost_events > 0 {
        notes.push(format!(
            "{} events were lost: latencies and calls of services are of the rest",
            sample.lost_events
        ));
    }
    notes
}

pub fn process_details(sample: &Sample, row: &ProcessRow) -> Vec<String> {
    let mut lines = vec![PROCESSES.to_string(), process(row), String::new()];
    lines.push(format!(
        "buffer: {} of {} bytes used",
        row.buffer_bytes, row.buffer_size
    ));
    lines.extend(
        row.services
            .iter()
            .map(|name| harmless(&format!("service {name}"))),
    );
    for one in &row.activities {
        lines.extend(fold(&format!("thread {} {}", one.tid, one.text())));
    }
    let own = sample.marks.iter().filter(|mark| mark.pid == row.pid);
    lines.extend(own.flat_map(mark));
    lines
}

pub fn service_details(row: &ServiceRow) -> Vec<String> {
    let mut lines = vec![SERVICES.to_string(), service(row), String::new()];
    lines.push(METHODS.to_string());
    lines.extend(row.methods.iter().map(method));
    if row.methods.is_empty() {
        lines.push("no calls were seen".to_string());
    }
    lines.push(String::new());
    lines.push(CALLERS.to_string());
    lines.extend(row.callers.iter().map(caller));
    if row.callers.is_empty() {
        lines.push("no process has a handle of it".to_string());
    }
    lines
}

/// All that `--once` prints.
pub fn all(sample: &Sample, view: View) -> Vec<String> {
    let mut lines = match view {
        View::Processes => {
            let rows = sample.processes.iter().map(process);
            std::iter::once(PROCESSES.to_string()).chain(rows).collect()
        }
        View::Services => {
            let rows = sample.services.iter().map(service);
            std::iter::once(SERVICES.to_string())
                .chain(rows)
                .collect::<Vec<_>>()
        }
    };
    let below: Vec<String> = marks(&sample.marks)
        .into_iter()
        .chain(notes(sample))
        .collect();
    if !below.is_empty() {
        lines.push(String::new());
        lines.extend(below);
    }
    lines
}

fn slowest(latency: Option<Latency>) -> f64 {
    latency.map_or(0.0, |latency| latency.p99_us)
}

/// Orders the rows; those that are equal, by pid or name.
pub fn sort(sample: &mut Sample, by: Sort) {
    sample.processes.sort_by(|a, b| {
        let calls = |row: &ProcessRow| row.received_per_s + row.sent_per_s;
        let order = match by {
            Sort::Calls => calls(b).total_cmp(&calls(a)),
            Sort::Latency => slowest(b.latency()).total_cmp(&slowest(a.latency())),
            Sort::Waiting => b.waiting.cmp(&a.waiting),
            Sort::Threads => b.busy.cmp(&a.busy),
            Sort::Buffers => b.buffer_bytes.cmp(&a.buffer_bytes),
            Sort::References => b.references.cmp(&a.references),
            Sort::Pid => a.pid.cmp(&b.pid),
        };
        order.then(a.pid.cmp(&b.pid))
    });
    sample.services.sort_by(|a, b| {
        let calls = |row: &ServiceRow| row.calls_per_s.unwrap_or(0.0);
        let order = match by {
            Sort::Latency => slowest(b.latency).total_cmp(&slowest(a.latency)),
            Sort::Waiting => b.waiting.cmp(&a.waiting),
            Sort::Pid => a.pid.cmp(&b.pid),
            _ => calls(b).total_cmp(&calls(a)),
        };
        order.then_with(|| a.name.cmp(&b.name))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [0.4, 99_999.0, 123_456.0, 12_345_678.0].map(short);
        assert_eq!(numbers, ["0", "99999", "123k", "12M"]);
    }

    #[test]
    fn long_lines_are_folded() {
        let lines = fold(&"word ".repeat(40));
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() <= WIDTH));
        assert_eq!(cut("a.long.name", 5, true), "~name");
    }

    #[test]
    fn rows_have_80_columns() {
        let row = ProcessRow {
            pid: 4_194_304,
            command: "a_very_long_name".to_string(),
            received_per_s: 1e9,
            waiting: 12_345,
            busy: 1000,
            threads: 1000,
            marks: vec!["NO THREAD", "HANGING"],
            ..ProcessRow::default()
        };
        assert!(process(&row).len() <= WIDTH);
        assert!(PROCESSES.len() <= WIDTH && SERVICES.len() <= WIDTH);
        assert!(METHODS.len() <= WIDTH && CALLERS.len() <= WIDTH);
    }
}
