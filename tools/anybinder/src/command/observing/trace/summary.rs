// SPDX-License-Identifier: Apache-2.0
//! The table of methods: how often each was called, how fast, with how many bytes, and which calls
//! are not over.
use super::line::target;
use crate::command::observing::system::text::{duration, method_name};
use anybinder_cli::output::harmless;
use anybinder_events::calls::Call;
use clap::ValueEnum;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write;

/// Longer calls count as this long.
const MAX_NS: u64 = 3_600_000_000_000;

/// What has a row of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A service, whatever its methods
    Service,
    /// A method of a service, also where several have one interface
    Method,
    /// A program that calls
    Caller,
}

struct Method {
    name: Option<String>,
    /// What is called, as long as it is one and the same.
    target: Option<String>,
    interface: String,
    calls: u64,
    errors: u64,
    bytes: u64,
    /// Times of the calls that are over.
    times: Histogram<u32>,
    unfinished: Unfinished,
    begun_before: u64,
}

/// The calls that are not over.
#[derive(Default)]
struct Unfinished {
    count: u64,
    /// When the first of them was sent, and the sum of when each was.
    first_ns: Option<u64>,
    sum_ns: u128,
}

impl Unfinished {
    fn add(&mut self, sent_ns: u64) {
        self.count += 1;
        self.first_ns = Some(
            self.first_ns
                .map_or(sent_ns, |first_ns| first_ns.min(sent_ns)),
        );
        self.sum_ns += u128::from(sent_ns);
    }

    /// How long the oldest has taken by a time, and all together.
    fn until(&self, now_ns: u64) -> (Option<u64>, u64) {
        let all_ns = (u128::from(now_ns) * u128::from(self.count)).saturating_sub(self.sum_ns);
        let oldest_ns = self
            .first_ns
            .map(|first_ns| now_ns.saturating_sub(first_ns));
        (oldest_ns, u64::try_from(all_ns).unwrap_or(u64::MAX))
    }
}

/// How many methods have rows of their own, and what the others are called.
const MOST_METHODS: usize = 500;
const OTHERS: &str = "(others)";

#[derive(Default)]
pub struct Summary {
    /// By interface, or what else is called, and by code.
    methods: HashMap<(String, u32), Method>,
    /// How many rows are wanted.
    top: Option<usize>,
    /// None: a method of an interface, whatever service has it.
    by: Option<By>,
    /// The time of the latest look.
    last_ns: u64,
}

#[derive(Serialize)]
struct Row {
    /// The service, if it is one.
    target: String,
    interface: String,
    code: u32,
    method: Option<String>,
    calls: u64,
    errors: u64,
    /// Percentiles of the calls that are over; null if none is.
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
    bytes: u64,
    /// Calls that are not over, and how long the oldest of them takes by now.
    unfinished: u64,
    oldest_ns: Option<u64>,
    /// Calls that were under way when the trace began.
    begun_before: u64,
    #[serde(skip)]
    total_ns: u64,
}

/// What a call counts for: its interface; if that is not known its service; the objects of a
/// process together, since a program may make one for each call.
fn group(call: &Call) -> String {
    match (&call.interface, &call.service) {
        (Some(interface), _) if !interface.is_empty() => interface.clone(),
        (_, Some(_)) => target(call),
        _ if call.node == 0 => target(call),
        _ => format!("objects of {}[{}]", call.to.process, call.to.pid),
    }
}

impl Summary {
    pub fn new(top: Option<usize>, by: Option<By>) -> Self {
        Summary {
            top,
            by,
            ..Summary::default()
        }
    }

    /// `now_ns`: the time. `name` looks for the name of the method.
    pub fn add(&mut self, call: &Call, now_ns: u64, name: impl Fn() -> Option<String>) {
        self.last_ns = self.last_ns.max(now_ns);
        let service = || call.service.clone().unwrap_or_else(|| group(call));
        let (row, code) = match self.by {
            None => (group(call), call.code),
            Some(By::Method) => (service(), call.code),
            Some(By::Service) => (service(), 0),
            Some(By::Caller) => (call.from.process.clone(), 0),
        };
        let mut key = (row.clone(), code);
        // A caller may use any number of codes, and a service of names.
        if self.methods.len() >= MOST_METHODS && !self.methods.contains_key(&key) {
            key = (OTHERS.to_string(), 0);
        }
        let target = match self.by {
            None => service(),
            Some(_) => row,
        };
        let is_method = matches!(self.by, None | Some(By::Method));
        let method = self.methods.entry(key).or_insert_with(|| Method {
            name: name().filter(|_| is_method),
            target: Some(target.clone()),
            interface: call
                .interface
                .clone()
                .filter(|_| is_method)
                .unwrap_or_default(),
            calls: 0,
            errors: 0,
            bytes: 0,
            times: Histogram::new_with_bounds(1, MAX_NS, 3).expect("constant bounds"),
            unfinished: Unfinished::default(),
            begun_before: 0,
        });
        method.target = method.target.take().filter(|known| *known == target);
        method.calls += 1;
        method.errors += u64::from(call.error.is_some());
        method.begun_before += u64::from(call.begun_before);
        method.bytes += call.size.unwrap_or(0) + call.reply_size.unwrap_or(0);
        match call.duration_ns().filter(|_| !call.unfinished) {
            Some(time) => method.times.saturating_record(time.max(1)),
            None => method.unfinished.add(call.sent_ns),
        }
    }

    fn row(&self, (group, code): &(String, u32), method: &Method) -> Row {
        let times = &method.times;
        let any = |value: u64| (!times.is_empty()).then_some(value);
        let (oldest_ns, waiting_ns) = method.unfinished.until(self.last_ns);
        let over_ns = times.mean() * times.len() as f64;
        Row {
            target: match &method.target {
                Some(target) if group != OTHERS => target.clone(),
                _ => group.clone(),
            },
            interface: method.interface.clone(),
            code: *code,
            method: method.name.clone(),
            calls: method.calls,
            errors: method.errors,
            p50_ns: any(times.value_at_quantile(0.5)),
            p99_ns: any(times.value_at_quantile(0.99)),
            max_ns: any(times.max()),
            bytes: method.bytes,
            unfinished: method.unfinished.count,
            oldest_ns,
            begun_before: method.begun_before,
            total_ns: (over_ns as u64).saturating_add(waiting_ns),
        }
    }

    /// The methods that took most time first.
    fn rows(&self) -> Vec<Row> {
        let each = self.methods.iter();
        let mut rows: Vec<Row> = each.map(|(key, method)| self.row(key, method)).collect();
        rows.sort_by(|a, b| {
            let key = |row: &Row| (row.interface.clone(), row.target.clone(), row.code);
            b.total_ns
                .cmp(&a.total_ns)
                .then_with(|| key(a).cmp(&key(b)))
        });
        rows.truncate(self.top.unwrap_or(usize::MAX));
        rows
    }

    pub fn json(&self, lost: u64) -> String {
        let document = serde_json::json!({
            "methods": self.rows(),
            "all_methods": self.methods.len(),
            "lost_events": lost,
        });
        format!("{document:#}")
    }

    pub fn text(&self) -> String {
        let time = |ns: Option<u64>| ns.map_or("-".to_string(), duration);
        let mut text = format!(
            "{:>8} {:>6} {:>10} {:>10} {:>10} {:>10} {:>6} {:>10}  METHOD\n",
            "CALLS", "ERRORS", "P50", "P99", "MAX", "BYTES", "OPEN", "OLDEST"
        );
        let rows = self.rows();
        for row in &rows {
            let of = match row.interface.as_str() {
                name if name.is_empty() || name == row.target => harmless(&row.target),
                name => format!("{} {}", harmless(&row.target), harmless(name)),
            };
            let method = match self.by {
                None | Some(By::Method) => method_name(row.method.as_deref(), row.code),
                _ => String::new(),
            };
            writeln!(
                text,
                "{:>8} {:>6} {:>10} {:>10} {:>10} {:>10} {:>6} {:>10}  {of} {method}",
                row.calls,
                row.errors,
                time(row.p50_ns),
                time(row.p99_ns),
                time(row.max_ns),
                row.bytes,
                row.unfinished,
                time(row.oldest_ns),
            )
            .expect("a string takes everything");
        }
        match self.methods.len() - rows.len() {
            0 => text,
            more => format!("{text}... {more} methods more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anybinder_events::thread_names::Thread;

    fn call(node: u32, time_ns: Option<u64>) -> Call {
        Call {
            node,
            code: 2,
            oneway: true,
            to: Thread {
                pid: 7,
                process: "maker".to_string(),
                ..Thread::default()
            },
            sent_ns: 1_000,
            done_ns: time_ns.map(|time| 1_000 + time),
            freed_ns: time_ns.map(|time| 1_000 + time),
            received_ns: Some(1_001),
            unfinished: time_ns.is_none(),
            ..Call::default()
        }
    }

    #[test]
    fn objects_that_are_no_services_have_one_row() {
        let mut summary = Summary::new(None, None);
        for node in 1..300 {
            summary.add(&call(node, Some(50)), 0, || None);
        }
        let rows = summary.rows();
        assert_eq!((rows.len(), rows[0].calls), (1, 299));
        assert_eq!(rows[0].target, "objects of maker[7]");
        // With their interface, which a call itself may name, they are told apart.
        for interface in ["t.I", "t.J"] {
            let known = Call {
                interface: Some(interface.to_string()),
                ..call(1, Some(50))
            };
            summary.add(&known, 0, || Some("post".to_string()));
        }
        assert_eq!(summary.rows().len(), 3);
        assert!(summary.text().contains(" t.J post\n"), "{}", summary.text());
    }
}
