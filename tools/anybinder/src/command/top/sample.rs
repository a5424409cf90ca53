// SPDX-License-Identifier: Apache-2.0
//! What is known of each process: the difference of two samples, and what is wrong with it.
use crate::command::graph::model::{self, Graph};
use anybinder_mount::binderfs::{self, ProcessStats};
use anybinder_mount::context::Context;
use anybinder_mount::error::Result;
use anybinder_mount::mount::Mount;
use anybinder_mount::process::command_name;
use anybinder_mount::state::{self, Process, Transaction};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// The buffer that libbinder maps; the drivers do not say how large it is.
const USUAL_BUFFER: u64 = 1024 * 1024 - 2 * 4096;

/// A thread that handles or makes a call.
#[derive(Clone, Debug, Serialize)]
pub struct Activity {
    pub tid: u32,
    pub text: String,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    pub pid: u32,
    pub command: String,
    pub services: Vec<String>,
    /// Transactions that were delivered to it, and that it sent.
    pub received_per_s: f64,
    pub sent_per_s: f64,
    /// Calls that wait for a thread of it.
    pub waiting: usize,
    /// Threads that handle a call, of all that it has.
    pub busy: usize,
    pub threads: usize,
    pub buffer_bytes: u64,
    pub references: u32,
    pub marks: Vec<String>,
    pub activities: Vec<Activity>,
}

impl Row {
    pub fn matches(&self, word: &str) -> bool {
        self.pid.to_string().contains(word)
            || self.command.contains(word)
            || self.services.iter().any(|service| service.contains(word))
    }
}

pub struct Sampler {
    mount: Mount,
    device: String,
    hanging_ms: u64,
    /// The nodes of services, looked up once for each set of nodes.
    names: HashMap<u64, String>,
    /// How many transactions each open had received and sent, and when.
    before: HashMap<(u32, String), (u64, u64)>,
    taken: Instant,
    /// When a transaction was first seen, for drivers that do not say how old it is.
    first_seen: HashMap<u64, Instant>,
}

impl Sampler {
    pub fn new(context: &Context, device: &str, hanging_ms: u64) -> Result<Sampler> {
        let names = model::service_nodes(context, device)?;
        let mut sampler = Sampler {
            mount: context.mount.clone(),
            device: device.to_string(),
            hanging_ms,
            names,
            before: HashMap::new(),
            taken: Instant::now(),
            first_seen: HashMap::new(),
        };
        sampler.sample()?;
        Ok(sampler)
    }

    /// How long a transaction takes already.
    fn age_ms(&mut self, call: &Transaction) -> u64 {
        let first = *self.first_seen.entry(call.id).or_insert_with(Instant::now);
        let seen_ms = u64::try_from(first.elapsed().as_millis()).unwrap_or(u64::MAX);
        call.elapsed_ms.unwrap_or(0).max(seen_ms)
    }

    pub fn sample(&mut self) -> Result<Vec<Row>> {
        // New names are not looked up while a screen is shown: that could wait for a service.
        let stats = binderfs::process_stats(&self.mount)?;
        let processes = state::processes(&self.mount)?;
        let elapsed_s = self.taken.elapsed().as_secs_f64().max(0.001);
        self.taken = Instant::now();
        let own = std::process::id();
        let mut rows: BTreeMap<u32, Row> = BTreeMap::new();
        let mut counts = HashMap::new();
        for one in stats.iter().filter(|one| one.pid != own) {
            let key = (one.pid, one.context.clone());
            let row = rows.entry(one.pid).or_insert_with(|| Row {
                pid: one.pid,
                command: command_name(one.pid),
                ..Row::default()
            });
            if let Some((received, sent)) = self.before.get(&key) {
                row.received_per_s += one.received.saturating_sub(*received) as f64 / elapsed_s;
                row.sent_per_s += one.sent.saturating_sub(*sent) as f64 / elapsed_s;
            }
            row.references += one.refs;
            counts.insert(key, (one.received, one.sent));
        }
        self.before = counts;
        let graph = model::build(&processes, &self.names, &[]);
        let mut alive = HashMap::new();
        for process in processes.iter().filter(|one| one.pid != own) {
            let Some(row) = rows.get_mut(&process.pid) else {
                continue;
            };
            let own_stats = stats
                .iter()
                .find(|one| one.pid == process.pid && one.context == process.context);
            self.add(row, process, own_stats, &mut alive);
        }
        self.first_seen = alive;
        mark_cycles(&mut rows, &graph);
        Ok(rows.into_values().collect())
    }

    fn add(
        &mut self,
        row: &mut Row,
        process: &Process,
        stats: Option<&ProcessStats>,
        alive: &mut HashMap<u64, Instant>,
    ) {
        if process.context == self.device {
            let names = process
                .nodes
                .iter()
                .filter_map(|node| self.names.get(&node.id));
            row.services.extend(names.cloned());
        }
        row.waiting += process.pending.len();
        row.threads += process.threads.len();
        row.buffer_bytes += process.buffer_bytes;
        let mut hanging = false;
        for thread in &process.threads {
            let handled = thread
                .incoming
                .iter()
                .filter(|one| one.to_tid == thread.tid);
            row.busy += usize::from(handled.count() > 0);
            let calls = thread.outgoing.iter().map(|one| (one, true));
            for (call, is_outgoing) in calls.chain(thread.incoming.iter().map(|one| (one, false))) {
                let age_ms = self.age_ms(call);
                if let Some(first) = self.first_seen.get(&call.id) {
                    alive.insert(call.id, *first);
                }
                hanging |= is_outgoing && !call.is_oneway && age_ms >= self.hanging_ms;
                row.activities.push(Activity {
                    tid: thread.tid,
                    text: self.describe(call, is_outgoing, age_ms),
                });
            }
        }
        let free = process
            .threads
            .iter()
            .filter(|thread| thread.is_waiting())
            .count();
        let mut mark = |text: &str| {
            if !row.marks.iter().any(|mark| mark == text) {
                row.marks.push(text.to_string());
            }
        };
        if hanging {
            mark("HANGING");
        }
        if !process.pending.is_empty() && free == 0 {
            mark("NO THREAD");
        }
        let is_low = stats.is_some_and(|stats| stats.free_async < 16 * 1024 && stats.buffers > 0);
        if is_low || process.buffer_bytes > USUAL_BUFFER / 8 * 7 {
            mark("NO SPACE");
        }
    }

    fn describe(&self, call: &Transaction, is_outgoing: bool, age_ms: u64) -> String {
        let name = call.node.and_then(|node| self.names.get(&node));
        let of = name.map_or_else(String::new, |name| format!(" of {name}"));
        let kind = if call.is_oneway {
            "one-way call"
        } else {
            "call"
        };
        match is_outgoing {
            true => format!(
                "waits for {} ({}): code {}{of}, {age_ms} ms",
                call.to_pid,
                command_name(call.to_pid),
                call.code
            ),
            false => format!(
                "handles a {kind} of {} ({}): code {}{of}, {age_ms} ms",
                call.from_pid,
                command_name(call.from_pid),
                call.code
            ),
        }
    }
}

fn mark_cycles(rows: &mut BTreeMap<u32, Row>, graph: &Graph) {
    for pid in graph.cycles.iter().flatten() {
        if let Some(row) = rows.get_mut(pid) {
            if !row.marks.iter().any(|mark| mark == "CIRCLE") {
                row.marks.push("CIRCLE".to_string());
            }
        }
    }
}
