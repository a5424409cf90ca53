// SPDX-License-Identifier: Apache-2.0
//! The table of methods: how often each was called, how fast, with how many bytes.
use super::line::target;
use crate::command::observing::system::text::{code_name, duration};
use anybinder_events::call::Call;
use anybinder_mount::harmless::harmless;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write;

/// Longer calls count as this long.
const MAX_NS: u64 = 3_600_000_000_000;

struct Method {
    interface: String,
    calls: u64,
    errors: u64,
    bytes: u64,
    times: Histogram<u64>,
}

/// How many methods have rows of their own, and what the others are called.
const MOST_METHODS: usize = 500;
const OTHERS: &str = "(others)";

#[derive(Default)]
pub struct Summary {
    /// By what is called and by code.
    methods: HashMap<(String, u32), Method>,
}

#[derive(Serialize)]
struct Row {
    target: String,
    interface: String,
    code: u32,
    calls: u64,
    errors: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    bytes: u64,
}

impl Summary {
    pub fn add(&mut self, call: &Call) {
        let mut key = (target(call), call.code);
        // A caller may use any number of codes, and a service of names.
        if self.methods.len() >= MOST_METHODS && !self.methods.contains_key(&key) {
            key = (OTHERS.to_string(), 0);
        }
        let method = self.methods.entry(key).or_insert_with(|| Method {
            interface: call.interface.clone().unwrap_or_default(),
            calls: 0,
            errors: 0,
            bytes: 0,
            times: Histogram::new_with_bounds(1, MAX_NS, 3).expect("constant bounds"),
        });
        method.calls += 1;
        method.errors += u64::from(call.error.is_some());
        method.bytes += call.size + call.reply_size;
        if let Some(time) = call.duration_ns() {
            method.times.saturating_record(time.max(1));
        }
    }

    /// The methods that took most time first.
    fn rows(&self) -> Vec<Row> {
        let mut methods: Vec<_> = self.methods.iter().collect();
        methods.sort_by(|a, b| {
            let total = |method: &Method| method.times.mean() * method.calls as f64;
            total(b.1).total_cmp(&total(a.1)).then(a.0.cmp(b.0))
        });
        methods
            .into_iter()
            .map(|((target, code), method)| Row {
                target: target.clone(),
                interface: method.interface.clone(),
                code: *code,
                calls: method.calls,
                errors: method.errors,
                p50_ns: method.times.value_at_quantile(0.5),
                p99_ns: method.times.value_at_quantile(0.99),
                max_ns: method.times.max(),
                bytes: method.bytes,
            })
            .collect()
    }

    pub fn json(&self, lost: u64) -> String {
        let document = serde_json::json!({ "methods": self.rows(), "lost_events": lost });
        format!("{document:#}")
    }

    pub fn text(&self) -> String {
        let mut text = format!(
            "{:>8} {:>6} {:>10} {:>10} {:>10} {:>10}  METHOD\n",
            "CALLS", "ERRORS", "P50", "P99", "MAX", "BYTES"
        );
        for row in self.rows() {
            let interface = match row.interface.as_str() {
                "" => String::new(),
                name => format!(" {}", harmless(name)),
            };
            writeln!(
                text,
                "{:>8} {:>6} {:>10} {:>10} {:>10} {:>10}  {}{interface} {}",
                row.calls,
                row.errors,
                duration(row.p50_ns),
                duration(row.p99_ns),
                duration(row.max_ns),
                row.bytes,
                harmless(&row.target),
                code_name(row.code)
            )
            .expect("a string takes everything");
        }
        text
    }
}
