// SPDX-License-Identifier: Apache-2.0
//! The rows as text, in columns that fit a width. Names get what the other columns leave.
use super::arguments::{Sort, View};
use super::rows::{Caller, Mark, Method, ProcessRow, Sample, ServiceRow};
use crate::command::observing::system::meter::Latency;
use crate::command::observing::system::text::{method_name, or_dash, short_time};
use anybinder_cli::output::harmless;

/// The least width.
pub const WIDTH: usize = 80;
/// The columns with names are as wide if there is not more room.
const COMMAND: usize = 12;
const SERVICE: usize = 30;
/// A mark, and a sign that there are others.
const MARK: usize = 10;
/// What the heading of the commands takes.
const HEADING: usize = 7;
/// The columns of a process besides its command and its marks, and of a service besides names.
const OTHERS_OF_PROCESS: usize = 58;
const OTHERS_OF_SERVICE: usize = 38;
/// The columns of the scheduling and of the restarts, which are shown if there is room.
const SCHEDULING: usize = 6;
const RESTARTS: usize = 9;

const METHODS: &str = "METHOD          CALLS   ERR   P50   P99   MAX  QUEUED   BYTES";

/// How wide the columns are.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    width: usize,
    command: usize,
    longest_command: usize,
    service: usize,
    has_scheduling: bool,
    has_restarts: bool,
}

impl Layout {
    /// The layout of a table of all that is in the sample.
    pub fn of(sample: &Sample, width: usize) -> Layout {
        let width = width.max(WIDTH);
        let length = |text: &str| harmless(text).chars().count();
        let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
        let processes = sample.processes.iter();
        let command = longest(&mut processes.clone().map(|row| length(&row.command)));
        let marks = longest(&mut processes.map(|row| short_marks(row).len()));
        let room = width - OTHERS_OF_PROCESS - COMMAND - marks;
        let both = width - OTHERS_OF_SERVICE;
        let (least, longest_command) = (command.clamp(HEADING, COMMAND), command);
        let command = COMMAND + command.saturating_sub(COMMAND).min(room);
        // Whatever is marked, so that columns do not come and go.
        let room = (width - OTHERS_OF_PROCESS - command).saturating_sub(marks.max(MARK));
        let services = sample.services.iter();
        let service = longest(&mut services.map(|row| length(&row.name)));
        Layout {
            width,
            command,
            service: service
                .max(SERVICE.min(both.saturating_sub(longest_command)))
                .min(both - least),
            longest_command,
            has_scheduling: room >= SCHEDULING,
            has_restarts: room >= SCHEDULING + RESTARTS,
        }
    }

    /// In the table of services, the name of the service comes first.
    fn command_of_service(&self) -> usize {
        let room = self.width - OTHERS_OF_SERVICE - self.service;
        self.longest_command.max(COMMAND).min(room)
    }

    pub fn processes(&self) -> String {
        let scheduling = match self.has_scheduling {
            true => "   PRI",
            false => "",
        };
        let restarts = self.restarts("RESTARTS");
        format!(
            "    PID {:<1$} SERVED   SENT   P50   P99 WAIT  BUSY  BUF  REFS{scheduling}{restarts}  \
             MARKS",
            "COMMAND", self.command,
        )
    }

    /// What stands in the column of the restarts, if there is one.
    fn restarts(&self, text: &str) -> String {
        match self.has_restarts {
            true => format!(" {text:>8}"),
            false => String::new(),
        }
    }

    pub fn services(&self) -> String {
        format!(
            "{:<service$}     PID {:<command$}  CALLS  ERR   P50   P99 WAIT{}",
            "SERVICE",
            "COMMAND",
            self.restarts("RESTARTS"),
            service = self.service,
            command = self.command_of_service(),
        )
    }

    fn callers(&self) -> String {
        format!("    PID {:<1$} CALLS   P50   P99", "CALLER", self.command)
    }
}

fn short_marks(row: &ProcessRow) -> String {
    match row.marks.as_slice() {
        [] => String::new(),
        [mark] => (*mark).to_string(),
        [mark, ..] => format!("{mark}+"),
    }
}

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
    or_dash(number.map(short))
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

/// Breaks a text into lines of as many words as fit; the next lines are indented.
fn fold(text: &str, width: usize) -> Vec<String> {
    let text = harmless(text);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
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

pub fn process(row: &ProcessRow, layout: Layout) -> String {
    let (p50, p99) = times(row.latency());
    let scheduling = match layout.has_scheduling {
        true => format!(" {:>5}", row.scheduling),
        false => String::new(),
    };
    let line = format!(
        "{:>7} {:<command$} {:>6} {:>6} {p50:>5} {p99:>5} {:>4} {:>5} {:>4} {:>5}{scheduling}{}  ",
        row.pid,
        cut(&row.command, layout.command, false),
        short(row.received_per_s),
        short(row.sent_per_s),
        row.all_waiting(),
        format!("{}/{}", row.busy, or_dash(row.threads)),
        or_dash(row.buffer_bytes.map(bytes)),
        or_dash(row.references),
        layout.restarts(&or_dash(row.restarts)),
        command = layout.command,
    );
    let all = row.marks.join(", ");
    let marks = match line.chars().count() + all.len() <= layout.width {
        true => all,
        false => short_marks(row),
    };
    cut((line + &marks).trim_end(), layout.width, false)
}

pub fn service(row: &ServiceRow, layout: Layout) -> String {
    let (p50, p99) = times(row.latency);
    let line = format!(
        "{:<service$} {:>7} {:<command$} {:>6} {:>4} {p50:>5} {p99:>5} {:>4}{}",
        cut(&row.name, layout.service, true),
        row.pid,
        cut(&row.command, layout.command_of_service(), false),
        rate(row.calls_per_s),
        rate(row.errors_per_s),
        row.waiting,
        layout.restarts(&or_dash(row.restarts)),
        service = layout.service,
        command = layout.command_of_service(),
    );
    cut(line.trim_end(), layout.width, false)
}

fn method(row: &Method) -> String {
    let (p50, p99) = times(row.latency);
    let max = row
        .latency
        .map_or_else(|| "-".to_string(), |all| short_time(all.max_us));
    let name = method_name(row.name.as_deref(), row.code);
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

fn caller(row: &Caller, layout: Layout) -> String {
    let (p50, p99) = times(row.latency);
    let note = match row.has_handle {
        true => "",
        false => "  has no handle any more",
    };
    format!(
        "{:>7} {:<command$} {:>5} {p50:>5} {p99:>5}{note}",
        row.pid,
        cut(&row.command, layout.command, false),
        rate(row.calls_per_s),
        command = layout.command,
    )
}

/// What is wrong, in lines.
pub fn marks<'a>(marks: impl Iterator<Item = &'a Mark>, layout: Layout) -> Vec<String> {
    let lines = marks.flat_map(|mark| fold(&mark.text(), layout.width));
    lines.collect()
}

/// What cannot be seen, in a line.
pub fn notes(sample: &Sample) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(sample.not_recorded.map(str::to_string));
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

pub fn process_details(sample: &Sample, row: &ProcessRow, layout: Layout) -> Vec<String> {
    let mut lines = vec![layout.processes(), process(row, layout), String::new()];
    if let (Some(used), Some(size)) = (row.buffer_bytes, row.buffer_size) {
        lines.push(format!("buffer: {used} of {size} bytes used"));
    }
    lines.extend(
        row.services
            .iter()
            .map(|name| harmless(&format!("service {name}"))),
    );
    for one in &row.activities {
        let scheduling = one.scheduling.as_deref().unwrap_or("-");
        let text = format!("thread {} {scheduling} {}", one.tid, one.text());
        lines.extend(fold(&text, layout.width));
    }
    let own = sample.marks.iter().filter(|mark| mark.pid == row.pid);
    lines.extend(marks(own, layout));
    lines
}

pub fn service_details(row: &ServiceRow, layout: Layout) -> Vec<String> {
    let mut lines = vec![layout.services(), service(row, layout), String::new()];
    if let Some(priority) = &row.priority {
        lines.push(format!("its calls are handled with {priority} at least"));
    }
    if let Some(backlog) = &row.backlog {
        let name = match backlog.is_long(u64::MAX) {
            true => "BACKLOG ",
            false => "",
        };
        lines.extend(fold(&format!("{name}{}", backlog.text()), layout.width));
    }
    lines.push(METHODS.to_string());
    lines.extend(row.methods.iter().map(method));
    if row.methods.is_empty() {
        lines.push("no call has ended".to_string());
    }
    lines.push(String::new());
    lines.push(layout.callers());
    lines.extend(row.callers.iter().map(|one| caller(one, layout)));
    if row.callers.is_empty() {
        lines.push("no process has a handle of it".to_string());
    }
    lines
}

/// All that `--once` prints.
pub fn all(sample: &Sample, view: View, layout: Layout) -> Vec<String> {
    let mut lines = match view {
        View::Processes => {
            let rows = sample.processes.iter().map(|row| process(row, layout));
            std::iter::once(layout.processes()).chain(rows).collect()
        }
        View::Services => {
            let rows = sample.services.iter().map(|row| service(row, layout));
            std::iter::once(layout.services())
                .chain(rows)
                .collect::<Vec<_>>()
        }
    };
    let below: Vec<String> = marks(sample.marks.iter(), layout)
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
            Sort::Waiting => b.all_waiting().cmp(&a.all_waiting()),
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
        let lines = fold(&"word ".repeat(40), WIDTH);
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() <= WIDTH));
        assert_eq!(cut("a.long.name", 5, true), "~name");
    }
}
