// SPDX-License-Identifier: Apache-2.0
//! What is known of each process and each service: the difference of two samples of the driver's
//! reports, what the meter found between them, and what is wrong.
use super::rows::{Activity, Caller, Doing, Mark, Method, Peer, ProcessRow, Sample, ServiceRow};
use crate::command::observing::system::meter::{Calls, Key, Measured, Meter};
use crate::command::observing::system::nodes::Nodes;
use crate::command::observing::system::text::time;
use crate::command::observing::system::waits;
use anybinder_mount::binderfs::{self, ProcessStats};
use anybinder_mount::context::Context;
use anybinder_mount::error::Result;
use anybinder_mount::mount::Mount;
use anybinder_mount::process::command_name;
use anybinder_mount::state::{self, Process, Thread, Transaction};
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// The buffer that libbinder maps, where a process does not show what it maps.
const USUAL_BUFFER: u64 = 1024 * 1024 - 2 * 4096;
/// A call that waits for a thread for less is only unlucky.
const NO_THREAD_MS: u64 = 100;

/// What lasts from sample to sample.
pub struct History {
    device: String,
    hanging_ms: u64,
    /// How many transactions each open had received and sent, and when.
    before: HashMap<(u32, String), (u64, u64)>,
    taken: Instant,
    /// When a transaction was first seen, for drivers that do not say how old it is.
    first_seen: HashMap<u64, Instant>,
    /// The sizes of buffers, looked up once for each process.
    sizes: HashMap<u32, u64>,
}

pub struct Sampler {
    mount: Mount,
    nodes: Nodes,
    meter: Meter,
    history: History,
}

impl Sampler {
    pub fn new(context: &Context, device: &str, hanging_ms: u64) -> Result<Sampler> {
        let mut sampler = Sampler {
            mount: context.mount.clone(),
            nodes: Nodes::open(context, device)?,
            meter: Meter::start(&context.mount),
            history: History::new(device, hanging_ms),
        };
        sampler.sample()?;
        Ok(sampler)
    }

    pub fn sample(&mut self) -> Result<Sample> {
        let stats = binderfs::process_stats(&self.mount)?;
        let processes = self.nodes.update(|| state::processes(&self.mount))?;
        let measured = self.meter.take();
        let sample = self
            .history
            .sample(&stats, &processes, &measured, self.nodes.names());
        Ok(sample)
    }
}

/// How much of `/proc/PID/maps` is the device.
fn mapped_bytes(pid: u32) -> Option<u64> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let size = |line: &str| -> Option<u64> {
        let (range, rest) = line.split_once(' ')?;
        let name = rest.split_whitespace().nth(4)?.rsplit('/').next()?;
        let (start, end) = range.split_once('-')?;
        let at = |hex| u64::from_str_radix(hex, 16).ok();
        (name.ends_with("binder") && rest.starts_with("r--"))
            .then(|| Some(at(end)? - at(start)?))?
    };
    let bytes: u64 = maps.lines().filter_map(size).sum();
    (bytes > 0).then_some(bytes)
}

impl History {
    pub fn new(device: &str, hanging_ms: u64) -> History {
        History {
            device: device.to_string(),
            hanging_ms,
            before: HashMap::new(),
            taken: Instant::now(),
            first_seen: HashMap::new(),
            sizes: HashMap::new(),
        }
    }

    pub fn sample(
        &mut self,
        stats: &[ProcessStats],
        processes: &[Process],
        measured: &Measured,
        names: &HashMap<u64, String>,
    ) -> Sample {
        let own = std::process::id();
        let mut rows = self.counted(stats);
        let mut seen = Seen {
            names,
            commands: rows
                .iter()
                .map(|(pid, row)| (*pid, row.command.clone()))
                .collect(),
            alive: HashMap::new(),
            marks: Vec::new(),
        };
        let low = low_on_async(stats);
        for process in processes.iter().filter(|one| one.pid != own) {
            if let Some(row) = rows.get_mut(&process.pid) {
                self.add(row, process, &mut seen);
            }
        }
        self.first_seen = std::mem::take(&mut seen.alive);
        self.mark_space(&mut rows, &low, &mut seen.marks);
        mark_circles(&mut rows, processes, &mut seen.marks);
        add_latencies(&mut rows, measured);
        let services = services(&self.device, processes, measured, &seen, own);
        Sample {
            processes: rows.into_values().collect(),
            services,
            marks: seen.marks,
            measured_s: measured.elapsed_s,
            lost_events: measured.lost,
            no_latencies: measured.missing.clone(),
        }
    }

    /// What the counters say.
    fn counted(&mut self, stats: &[ProcessStats]) -> BTreeMap<u32, ProcessRow> {
        let elapsed_s = self.taken.elapsed().as_secs_f64().max(0.001);
        self.taken = Instant::now();
        let own = std::process::id();
        let mut rows: BTreeMap<u32, ProcessRow> = BTreeMap::new();
        let mut counts = HashMap::new();
        for one in stats.iter().filter(|one| one.pid != own) {
            let key = (one.pid, one.context.clone());
            let row = rows.entry(one.pid).or_insert_with(|| ProcessRow {
                pid: one.pid,
                command: command_name(one.pid),
                ..ProcessRow::default()
            });
            if let Some((received, sent)) = self.before.get(&key) {
                row.received_per_s += one.received.saturating_sub(*received) as f64 / elapsed_s;
                row.sent_per_s += one.sent.saturating_sub(*sent) as f64 / elapsed_s;
            }
            row.references += one.refs;
            counts.insert(key, (one.received, one.sent));
        }
        self.before = counts;
        self.sizes.retain(|pid, _| rows.contains_key(pid));
        rows
    }

    /// How long a transaction takes already.
    fn age_ms(&self, call: &Transaction, seen: &mut Seen) -> u64 {
        let first = self.first_seen.get(&call.id).copied();
        let first = first.unwrap_or_else(Instant::now);
        seen.alive.insert(call.id, first);
        let seen_ms = u64::try_from(first.elapsed().as_millis()).unwrap_or(u64::MAX);
        call.elapsed_ms.unwrap_or(0).max(seen_ms)
    }

    fn activity(&self, thread: &Thread, seen: &mut Seen) -> Activity {
        let awaited = waits::awaited(thread).map(|call| (call, Doing::Waits));
        let handled = waits::handled(thread).map(|call| (call, Doing::Handles));
        let Some((call, doing)) = awaited.or(handled) else {
            return Activity {
                tid: thread.tid,
                doing: match thread.is_waiting() {
                    true => Doing::Idle,
                    false => Doing::Outside,
                },
                with: None,
            };
        };
        let for_ms = self.age_ms(call, seen);
        let (pid, tid) = match doing {
            Doing::Waits => (call.to_pid, call.to_tid),
            _ => (call.from_pid, call.from_tid),
        };
        Activity {
            tid: thread.tid,
            doing,
            with: Some(Peer {
                pid,
                tid,
                command: seen.command(pid),
                code: call.code,
                is_oneway: call.is_oneway,
                service: call.node.and_then(|node| seen.names.get(&node)).cloned(),
                for_ms,
            }),
        }
    }

    fn add(&mut self, row: &mut ProcessRow, process: &Process, seen: &mut Seen) {
        if process.context == self.device {
            let nodes = process.nodes.iter();
            let names = nodes.filter_map(|node| seen.names.get(&node.id));
            row.services.extend(names.cloned());
        }
        row.waiting += process.pending.len();
        row.buffer_bytes += process.buffer_bytes;
        for thread in &process.threads {
            row.busy += usize::from(waits::handled(thread).is_some());
            let activity = self.activity(thread, seen);
            if let (Doing::Waits, Some(peer)) = (activity.doing, &activity.with) {
                if peer.for_ms >= self.hanging_ms {
                    let why = activity.text();
                    seen.mark(row, "HANGING", format!("thread {} {why}", thread.tid));
                }
            }
            row.add_activity(activity);
        }
        row.threads = row.activities.len();
        // A thread that waits for a reply does not take other calls.
        let is_idle = |one: &&Thread| {
            one.is_waiting() && waits::awaited(one).or(waits::handled(one)).is_none()
        };
        let free = process.threads.iter().filter(is_idle);
        let oldest_ms = process
            .pending
            .iter()
            .map(|call| self.age_ms(call, seen))
            .max();
        if free.count() == 0 && oldest_ms >= Some(NO_THREAD_MS.min(self.hanging_ms)) {
            let why = format!(
                "{} {} for a thread, since {}; {} of {} handle a call",
                process.pending.len(),
                if process.pending.len() == 1 {
                    "call waits"
                } else {
                    "calls wait"
                },
                time(oldest_ms.unwrap_or(0)),
                row.busy,
                row.threads,
            );
            seen.mark(row, "NO THREAD", why);
        }
    }

    fn mark_space(
        &mut self,
        rows: &mut BTreeMap<u32, ProcessRow>,
        low: &HashMap<u32, u64>,
        marks: &mut Vec<Mark>,
    ) {
        for (pid, row) in rows {
            let size = self.sizes.entry(*pid);
            let size = *size.or_insert_with(|| mapped_bytes(*pid).unwrap_or(USUAL_BUFFER));
            row.buffer_size = size;
            let why = match low.get(pid) {
                _ if row.buffer_bytes > size / 8 * 7 => format!(
                    "{} of {} bytes of its buffer are used",
                    row.buffer_bytes, size
                ),
                Some(free) => format!("{free} bytes are left for one-way calls"),
                None => continue,
            };
            mark(marks, row, "NO SPACE", why);
        }
    }
}

/// What is gathered for one sample.
struct Seen<'a> {
    names: &'a HashMap<u64, String>,
    commands: HashMap<u32, String>,
    alive: HashMap<u64, Instant>,
    marks: Vec<Mark>,
}

impl Seen<'_> {
    fn command(&self, pid: u32) -> String {
        match self.commands.get(&pid) {
            Some(command) => command.clone(),
            None => command_name(pid),
        }
    }

    fn mark(&mut self, row: &mut ProcessRow, name: &'static str, why: String) {
        mark(&mut self.marks, row, name, why);
    }
}

fn mark(marks: &mut Vec<Mark>, row: &mut ProcessRow, name: &'static str, why: String) {
    if !row.marks.contains(&name) {
        row.marks.push(name);
    }
    marks.push(Mark {
        mark: name,
        pid: row.pid,
        command: row.command.clone(),
        why,
    });
}

/// Processes with little space for one-way calls, and how many bytes.
fn low_on_async(stats: &[ProcessStats]) -> HashMap<u32, u64> {
    let is_low = |one: &&ProcessStats| one.free_async < 16 * 1024 && one.buffers > 0;
    let low = stats.iter().filter(is_low);
    low.map(|one| (one.pid, one.free_async)).collect()
}

fn mark_circles(
    rows: &mut BTreeMap<u32, ProcessRow>,
    processes: &[Process],
    marks: &mut Vec<Mark>,
) {
    for circle in waits::circles(processes) {
        let pids = waits::pids(&circle);
        let round = pids.iter().chain(pids.first());
        let round: Vec<String> = round.map(u32::to_string).collect();
        let why = format!("waits in a circle: {}", round.join(" -> "));
        for pid in pids {
            if let Some(row) = rows.get_mut(&pid) {
                mark(marks, row, "CIRCLE", why.clone());
            }
        }
    }
}

/// One-way calls are left out: no thread waits for them.
fn add_latencies(rows: &mut BTreeMap<u32, ProcessRow>, measured: &Measured) {
    let (mut served, mut made) = (HashMap::new(), HashMap::new());
    for (key, calls) in measured.calls.iter().filter(|(key, _)| !key.is_oneway) {
        *served.entry(key.to).or_insert_with(Calls::default) += calls;
        *made.entry(key.from).or_insert_with(Calls::default) += calls;
    }
    for (pid, row) in rows {
        row.served = served.get(pid).and_then(Calls::latency);
        row.made = made.get(pid).and_then(Calls::latency);
    }
}

fn methods(calls: &[(&Key, &Calls)], measured: &Measured) -> Vec<Method> {
    let mut methods: BTreeMap<(u32, bool), Calls> = BTreeMap::new();
    for (key, calls) in calls {
        *methods.entry((key.code, key.is_oneway)).or_default() += *calls;
    }
    let mut methods: Vec<Method> = methods
        .into_iter()
        .map(|((code, is_oneway), calls)| Method {
            code,
            is_oneway,
            calls_per_s: measured.per_s(calls.calls),
            errors_per_s: measured.per_s(calls.errors),
            bytes_per_s: measured.per_s(calls.bytes),
            latency: calls.latency(),
            queued: calls.queued(),
        })
        .collect();
    methods.sort_by(|a, b| b.calls_per_s.total_cmp(&a.calls_per_s));
    methods
}

/// The processes that have a handle of a node, and those that called it and have none any more.
fn callers(
    node: &state::Node,
    calls: &[(&Key, &Calls)],
    measured: &Measured,
    seen: &Seen,
    own: u32,
) -> Vec<Caller> {
    let mut sums: BTreeMap<u32, Calls> = BTreeMap::new();
    for pid in node.holders.iter().filter(|pid| **pid != own) {
        sums.entry(*pid).or_default();
    }
    for (key, calls) in calls {
        *sums.entry(key.from).or_default() += *calls;
    }
    let mut callers: Vec<Caller> = sums
        .into_iter()
        .map(|(pid, calls)| Caller {
            pid,
            command: seen.command(pid),
            has_handle: node.holders.contains(&pid),
            calls_per_s: (measured.missing.is_none()).then(|| measured.per_s(calls.calls)),
            latency: calls.latency(),
        })
        .collect();
    callers.sort_by(|a, b| {
        let rate = |one: &Caller| one.calls_per_s.unwrap_or(0.0);
        rate(b).total_cmp(&rate(a))
    });
    callers
}

fn services(
    device: &str,
    processes: &[Process],
    measured: &Measured,
    seen: &Seen,
    own: u32,
) -> Vec<ServiceRow> {
    let mut by_node: HashMap<u64, Vec<(&Key, &Calls)>> = HashMap::new();
    for (key, calls) in &measured.calls {
        by_node.entry(key.node).or_default().push((key, calls));
    }
    let mut rows = Vec::new();
    for process in processes.iter().filter(|one| one.context == device) {
        for node in &process.nodes {
            let Some(name) = seen.names.get(&node.id) else {
                continue;
            };
            let calls = by_node.remove(&node.id).unwrap_or_default();
            let (mut all, mut awaited) = (Calls::default(), Calls::default());
            for (key, calls) in &calls {
                all += *calls;
                if !key.is_oneway {
                    awaited += *calls;
                }
            }
            let of_node = |call: &&Transaction| call.node == Some(node.id);
            let rate = |count| (measured.missing.is_none()).then(|| measured.per_s(count));
            rows.push(ServiceRow {
                name: name.clone(),
                pid: process.pid,
                command: seen.command(process.pid),
                calls_per_s: rate(all.calls),
                errors_per_s: rate(all.errors),
                latency: awaited.latency(),
                waiting: node.pending.len() + process.pending.iter().filter(of_node).count(),
                methods: methods(&calls, measured),
                callers: callers(node, &calls, measured, seen, own),
            });
        }
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::observing::system::meter::Calls;
    use std::fmt::Write;

    /// The reports of `count` processes; each is called by the next one, and has a service.
    fn reports(count: u32) -> (Vec<ProcessStats>, Vec<Process>, HashMap<u64, String>) {
        let (mut stats, mut state) = (String::new(), String::from("binder state:\n"));
        let mut names = HashMap::new();
        for at in 0..count {
            // No such processes can be.
            let pid = 5_000_000 + at;
            let next = 5_000_000 + (at + 1) % count;
            let pending = count + at;
            write!(
                stats,
                "proc {pid}\ncontext binder\n  threads: 1\n  free async space 520192\n  \
                 refs: 2 s 2 w 2\n  BC_TRANSACTION: 7\n  BR_TRANSACTION: 5\n"
            )
            .unwrap();
            let rest = "code 3 flags 10 pri 0:120 r1 elapsed 5000ms";
            write!(
                state,
                "proc {pid}\ncontext binder\n  thread {pid}: l 12 need_return 0 tr 0\n    \
                 outgoing transaction {at}: 0 from {pid}:{pid} to {next}:0 {rest}\n  \
                 node {at}: u0 c0 hs 1 hw 1 ls 0 lw 0 is 1 iw 1 tr 1 proc {next}\n  \
                 pending transaction {pending}: 0 from 1:1 to {pid}:0 {rest} node {at} size 4:0\n",
            )
            .unwrap();
            names.insert(u64::from(at), format!("service.{at}"));
        }
        (binderfs::parse(&stats), state::parse(&state), names)
    }

    fn measured() -> Measured {
        let key = |is_oneway| Key {
            node: 0,
            code: 3,
            is_oneway,
            from: 5_000_001,
            to: 5_000_000,
        };
        let calls = |count| {
            let mut calls = Calls::default();
            calls.calls = count;
            calls
        };
        Measured {
            calls: HashMap::from([(key(false), calls(20)), (key(true), calls(2))]),
            elapsed_s: 2.0,
            ..Measured::default()
        }
    }

    #[test]
    fn what_is_wrong_is_marked() {
        let (stats, processes, names) = reports(3);
        let mut history = History::new("binder", 2000);
        let sample = history.sample(&stats, &processes, &measured(), &names);
        let row = &sample.processes[0];
        assert_eq!(row.marks, ["HANGING", "NO THREAD", "CIRCLE"]);
        assert_eq!((row.waiting, row.busy, row.threads), (1, 0, 1));
        let with = row.activities[0].with.as_ref().unwrap();
        assert_eq!((with.pid, with.tid, with.for_ms), (5_000_001, 0, 5000));
        let circle = sample.marks.iter().find(|mark| mark.mark == "CIRCLE");
        assert!(circle
            .unwrap()
            .why
            .ends_with("5000000 -> 5000001 -> 5000002 -> 5000000"));
        // Not yet hanging.
        let sample = History::new("binder", 6000).sample(&stats, &processes, &measured(), &names);
        assert!(!sample.processes[0].marks.contains(&"HANGING"));
    }

    #[test]
    fn a_service_has_methods_and_callers() {
        let (stats, processes, names) = reports(3);
        let mut history = History::new("binder", 2000);
        let sample = history.sample(&stats, &processes, &measured(), &names);
        let service = sample.service("service.0").unwrap();
        assert_eq!((service.calls_per_s, service.waiting), (Some(11.0), 1));
        assert_eq!(service.methods.len(), 2);
        assert_eq!(
            (service.methods[0].code, service.methods[0].calls_per_s),
            (3, 10.0)
        );
        assert_eq!(
            (service.callers[0].pid, service.callers[0].has_handle),
            (5_000_001, true)
        );
        // Without events there are no rates of services, but there are callers.
        let missing = Measured {
            missing: Some("denied".to_string()),
            ..Measured::default()
        };
        let sample = history.sample(&stats, &processes, &missing, &names);
        let service = sample.service("service.0").unwrap();
        assert_eq!(
            (service.calls_per_s, service.callers[0].pid),
            (None, 5_000_001)
        );
    }

    #[test]
    fn counters_become_rates() {
        let (mut stats, processes, names) = reports(2);
        let mut history = History::new("binder", 2000);
        let first = history.sample(&stats, &processes, &measured(), &names);
        assert_eq!(first.processes[0].sent_per_s, 0.0);
        stats[0].sent += 5;
        let second = history.sample(&stats, &processes, &measured(), &names);
        assert!(second.processes[0].sent_per_s > 0.0);
        assert_eq!(second.processes[1].sent_per_s, 0.0);
    }

    #[test]
    fn ten_thousand_processes_are_a_sample() {
        let (stats, processes, names) = reports(10_000);
        assert_eq!((stats.len(), processes.len()), (10_000, 10_000));
        let mut history = History::new("binder", 2000);
        let sample = history.sample(&stats, &processes, &measured(), &names);
        assert_eq!(sample.processes.len(), 10_000);
        let circles = sample.marks.iter().filter(|mark| mark.mark == "CIRCLE");
        assert_eq!(circles.count(), 10_000);
    }
}
