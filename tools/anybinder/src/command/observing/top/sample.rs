// SPDX-License-Identifier: Apache-2.0
//! What is known of each process and each service: the difference of two samples of the driver's
//! reports, what the meter found between them, and what is wrong.
use super::rows::{Activity, Doing, Peer, ProcessRow, Sample, Seen};
use super::service_rows::services;
use super::wrong::{self, References};
use crate::command::observing::system::backlog::{self, Lookups};
use crate::command::observing::system::known::Known;
use crate::command::observing::system::meter::{Calls, Measured, Meter};
use crate::command::observing::system::methods::Methods;
use crate::command::observing::system::nodes::Nodes;
use crate::command::observing::system::past::{Past, NOT_RECORDED};
use crate::command::observing::system::{thread_priority, waits};
use anybinder_cli::error::Result;
use anybinder_client::restarts::Asker;
use anybinder_mount::binderfs::{self, ProcessStats};
use anybinder_mount::context::Context;
use anybinder_mount::mount::Mount;
use anybinder_mount::state_report::{self, Process, Thread, Transaction};
use anybinder_parcel::aidl::Library;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the counters are looked at in the time of a single sample.
const GLANCES: u32 = 4;

/// Since when transactions are seen, for drivers that do not say how old they are.
#[derive(Default)]
struct Ages {
    first_seen: HashMap<u64, Instant>,
    alive: HashMap<u64, Instant>,
}

/// What lasts from sample to sample.
pub struct History {
    device: String,
    hanging_ms: u64,
    known: Arc<Known>,
    /// How many transactions each open had received and sent, and when.
    before: HashMap<(u32, String), (u64, u64)>,
    taken: Instant,
    ages: Ages,
    references: References,
    /// The processes that had not acknowledged a notice of a death at the last look.
    dead_notices: HashSet<u32>,
    /// The sizes of buffers, looked up once for each process.
    sizes: HashMap<u32, Option<u64>>,
}

/// What a sample is made of beside the driver's reports.
pub struct Wanted {
    pub services: bool,
    pub commands: bool,
    pub latencies: bool,
    /// Neither sizes nor priorities of calls.
    pub is_lean: bool,
}

/// What a sample is made of.
pub struct Look<'a> {
    pub processes: &'a [Process],
    pub measured: &'a Measured,
    /// The names of services by node.
    pub names: &'a HashMap<u64, String>,
    pub methods: &'a Methods,
}

pub struct Sampler {
    mount: Mount,
    nodes: Option<Nodes>,
    meter: Option<Meter>,
    restarts: Asker,
    methods: Methods,
    history: History,
}

impl Sampler {
    pub fn new(
        context: &Context,
        device: &str,
        hanging_ms: u64,
        wanted: &Wanted,
        library: Option<Library>,
    ) -> Result<Sampler> {
        let known = match wanted.commands {
            true => Known::Now,
            false => Known::Nameless,
        };
        let nodes = wanted.services.then(|| Nodes::open(context, device));
        let mut nodes = nodes.transpose()?;
        if let (Some(nodes), true) = (&mut nodes, library.is_some()) {
            nodes.ask_for_interfaces();
        }
        let mut sampler = Sampler {
            mount: context.mount.clone(),
            nodes,
            meter: wanted
                .latencies
                .then(|| Meter::start(&context.mount, wanted.is_lean)),
            restarts: Asker::new(&context.mount, device),
            methods: Methods {
                library,
                ..Methods::default()
            },
            history: History::new(device, hanging_ms, known),
        };
        sampler.glance()?;
        Ok(sampler)
    }

    /// Looks at what costs little.
    fn glance(&mut self) -> Result<()> {
        let stats = binderfs::process_stats(&self.mount)?;
        // Whether the reports can be read, the sample tells.
        let busy = state_report::busy_processes(&self.mount).unwrap_or_default();
        self.history.glance(&stats, &busy);
        Ok(())
    }

    pub fn sample(&mut self) -> Result<Sample> {
        self.sample_seen(|_| ())
    }

    /// A sample; `see` gets what it is made of.
    pub fn sample_seen(&mut self, see: impl FnOnce(&Look)) -> Result<Sample> {
        let stats = binderfs::process_stats(&self.mount)?;
        let read = || state_report::processes(&self.mount);
        let processes = match &mut self.nodes {
            Some(nodes) => nodes.update(read)?,
            None => read()?,
        };
        let measured = self.meter.as_mut().map(Meter::take).unwrap_or_default();
        if let Some(interfaces) = self.nodes.as_mut().and_then(Nodes::new_interfaces) {
            self.methods.interfaces = interfaces;
        }
        let none = HashMap::new();
        let names = self.nodes.as_ref().map_or(&none, Nodes::names);
        see(&Look {
            processes: &processes,
            measured: &measured,
            names,
            methods: &self.methods,
        });
        let named = (names, &self.methods);
        let mut sample = self.history.sample(&stats, &processes, &measured, named);
        if let Some(services) = self.restarts.ask() {
            wrong::add_restarts(&mut sample, &services);
        }
        Ok(sample)
    }

    /// A single sample of a time.
    pub fn sample_of(&mut self, interval: Duration) -> Result<Sample> {
        let start = Instant::now();
        for at in 1..=GLANCES {
            let due = start + interval / GLANCES * at;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            // A look that takes long stands for those after it.
            if at < GLANCES && start.elapsed() < interval / GLANCES * (at + 1) {
                self.glance()?;
            }
        }
        self.sample()
    }
}

impl Ages {
    /// How long a transaction takes already.
    fn age_ms(&mut self, call: &Transaction) -> u64 {
        let first = self.first_seen.get(&call.id).copied();
        let first = first.unwrap_or_else(Instant::now);
        self.alive.insert(call.id, first);
        let seen_ms = u64::try_from(first.elapsed().as_millis()).unwrap_or(u64::MAX);
        call.elapsed_ms.unwrap_or(0).max(seen_ms)
    }

    /// Forgets those of which nobody asked since the last time.
    fn turn(&mut self) {
        self.first_seen = std::mem::take(&mut self.alive);
    }
}

fn counts(stats: &[ProcessStats]) -> HashMap<(u32, String), (u64, u64)> {
    let key = |one: &ProcessStats| (one.pid, one.context.clone());
    let counts = stats.iter().map(|one| (key(one), (one.received, one.sent)));
    counts.collect()
}

impl History {
    pub fn new(device: &str, hanging_ms: u64, known: Known) -> History {
        History {
            device: device.to_string(),
            hanging_ms,
            known: Arc::new(known),
            before: HashMap::new(),
            taken: Instant::now(),
            ages: Ages::default(),
            references: References::default(),
            dead_notices: HashSet::new(),
            sizes: HashMap::new(),
        }
    }

    /// Remembers what a sample needs to know of the time before it.
    pub fn glance(&mut self, stats: &[ProcessStats], busy: &[Process]) {
        if self.before.is_empty() {
            self.before = counts(stats);
            self.taken = Instant::now();
        }
        self.references.look(stats);
        self.dead_notices = wrong::dead_notices(busy);
        for process in busy {
            let of_threads = process.threads.iter().flat_map(|one| &one.outgoing);
            let of_nodes = process.nodes.iter().flat_map(|one| &one.pending);
            for call in of_threads.chain(of_nodes).chain(&process.pending) {
                self.ages.age_ms(call);
            }
        }
        self.ages.turn();
    }

    pub fn sample(
        &mut self,
        stats: &[ProcessStats],
        processes: &[Process],
        measured: &Measured,
        (names, methods): (&HashMap<u64, String>, &Methods),
    ) -> Sample {
        let own = self.known.own();
        let mut rows = self.counted(stats);
        let mut seen = Seen {
            names,
            known: self.known.clone(),
            methods,
            commands: rows
                .iter()
                .map(|(pid, row)| (*pid, row.command.clone()))
                .collect(),
            backlogs: HashMap::new(),
            marks: Vec::new(),
        };
        if self.known.has_names() {
            for (pid, name) in &measured.commands {
                let command = seen.commands.entry(*pid);
                command.or_insert_with(|| name.clone());
            }
        }
        for process in processes.iter().filter(|one| one.pid != own) {
            if let Some(row) = rows.get_mut(&process.pid) {
                self.add(row, process, &mut seen);
            }
        }
        self.ages.turn();
        self.references.look(stats);
        wrong::mark_space(&mut rows, stats, &mut seen.marks);
        wrong::mark_leaks(&mut rows, &self.references, processes, &mut seen);
        wrong::mark_priorities(&mut rows, measured, &mut seen);
        wrong::mark_circles(&mut rows, processes, &mut seen.marks);
        let unacknowledged = wrong::dead_notices(processes);
        let both = unacknowledged.intersection(&self.dead_notices);
        wrong::mark_dead_notices(&mut rows, both, &mut seen.marks);
        self.dead_notices = unacknowledged;
        add_latencies(&mut rows, measured);
        if self.known.is_recorded() {
            add_rates(&mut rows, measured);
        }
        wrong::sort(&mut seen.marks);
        let services = services(&self.device, processes, measured, &seen, own);
        Sample {
            processes: rows.into_values().collect(),
            services,
            marks: seen.marks,
            measured_s: measured.elapsed_s,
            lost_events: measured.lost,
            no_latencies: measured.missing.clone(),
            not_recorded: self.known.is_recorded().then_some(NOT_RECORDED),
        }
    }

    /// What the counters say.
    fn counted(&mut self, stats: &[ProcessStats]) -> BTreeMap<u32, ProcessRow> {
        let elapsed_s = self.taken.elapsed().as_secs_f64().max(0.001);
        self.taken = Instant::now();
        let own = self.known.own();
        let nothing = (!self.known.is_recorded()).then_some(0);
        let mut rows: BTreeMap<u32, ProcessRow> = BTreeMap::new();
        for one in stats.iter().filter(|one| one.pid != own) {
            let row = rows.entry(one.pid).or_insert_with(|| ProcessRow {
                pid: one.pid,
                command: self.known.command(one.pid),
                buffer_bytes: nothing.map(u64::from),
                references: nothing,
                ..ProcessRow::default()
            });
            let before = self.before.get(&(one.pid, one.context.clone()));
            if let Some((received, sent)) = before {
                row.received_per_s += one.received.saturating_sub(*received) as f64 / elapsed_s;
                row.sent_per_s += one.sent.saturating_sub(*sent) as f64 / elapsed_s;
            }
            row.references = row.references.map(|count| count + one.refs);
        }
        self.before = counts(stats);
        self.sizes.retain(|pid, _| rows.contains_key(pid));
        for (pid, row) in &mut rows {
            let size = self.sizes.entry(*pid);
            row.buffer_size = *size.or_insert_with(|| self.known.buffer_size(*pid));
        }
        rows
    }

    fn activity(&mut self, process: &Process, thread: &Thread, seen: &Seen) -> Activity {
        let awaited = waits::awaited(thread).map(|call| (call, Doing::Waits));
        let handled = waits::handled(thread).map(|call| (call, Doing::Handles));
        let scheduling = self.known.scheduling(process.pid, thread.tid);
        let Some((call, doing)) = awaited.or(handled) else {
            return Activity {
                tid: thread.tid,
                doing: match (thread.is_waiting(), thread.is_away()) {
                    (true, _) => Doing::Idle,
                    (_, true) if process.oneway_threads() > 0 => Doing::Oneway,
                    _ => Doing::Outside,
                },
                with: None,
                scheduling,
            };
        };
        let for_ms = self.ages.age_ms(call);
        let service = call.node.and_then(|node| seen.names.get(&node));
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
                method: seen.methods.name(service.map(String::as_str), call.code),
                is_oneway: call.is_oneway,
                service: service.cloned(),
                for_ms,
                priority: call.priority.clone(),
            }),
            scheduling,
        }
    }

    /// What of a process waits for its turn.
    fn add_backlogs(&mut self, row: &mut ProcessRow, process: &Process, seen: &mut Seen) {
        let ages = &mut self.ages;
        let mut lookups = Lookups {
            names: seen.names,
            command: &|pid| seen.command(pid),
            age_ms: &mut |call| Some(ages.age_ms(call)),
        };
        let backlogs = backlog::of(process, row.buffer_size, &mut lookups);
        for one in backlogs {
            if one.is_long(self.hanging_ms) {
                seen.mark(row, "BACKLOG", one.text());
            }
            seen.backlogs.insert(one.node, one.clone());
            row.backlogs.push(one);
        }
    }

    fn add(&mut self, row: &mut ProcessRow, process: &Process, seen: &mut Seen) {
        if process.context == self.device {
            let nodes = process.nodes.iter();
            let names = nodes.filter_map(|node| seen.names.get(&node.id));
            row.services.extend(names.cloned());
        }
        row.waiting += process.pending.len();
        row.buffer_bytes = row.buffer_bytes.map(|used| used + process.buffer_bytes);
        row.busy += process.oneway_threads();
        for thread in &process.threads {
            row.busy += usize::from(waits::handled(thread).is_some());
            let activity = self.activity(process, thread, seen);
            if let (Doing::Waits, Some(peer)) = (activity.doing, &activity.with) {
                if peer.for_ms >= self.hanging_ms {
                    let why = activity.text();
                    seen.mark(row, "HANGING", format!("thread {} {why}", thread.tid));
                }
            }
            row.add_activity(activity);
        }
        let is_recorded = self.known.is_recorded();
        row.threads = (!is_recorded).then_some(row.activities.len());
        let known = row.activities.iter();
        row.scheduling =
            thread_priority::summary(known.filter_map(|one| one.scheduling.as_deref()));
        let ages = process.pending.iter().map(|call| self.ages.age_ms(call));
        let oldest_ms = ages.max();
        wrong::mark_no_thread(row, process, oldest_ms, self.hanging_ms, &mut seen.marks);
        self.add_backlogs(row, process, seen);
        if !is_recorded {
            wrong::mark_frozen(row, oldest_ms, &mut seen.marks);
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

/// A recording has no counters: of the calls that ended.
fn add_rates(rows: &mut BTreeMap<u32, ProcessRow>, measured: &Measured) {
    for (key, calls) in &measured.calls {
        let rate = measured.per_s(calls.calls);
        if let Some(row) = rows.get_mut(&key.to) {
            row.received_per_s += rate;
        }
        if let Some(row) = rows.get_mut(&key.from) {
            row.sent_per_s += rate;
        }
    }
}

/// What a recording says: what there was at the end of a time, and rates and latencies of it.
pub fn of_past(
    past: &Past,
    span: &Range<u64>,
    hanging_ms: u64,
    library: Option<Library>,
) -> Sample {
    let processes = past.processes(span.end);
    let of_process = |one: &Process| ProcessStats {
        pid: one.pid,
        ..ProcessStats::default()
    };
    let stats: Vec<ProcessStats> = processes.iter().map(of_process).collect();
    let mut history = History::new("", hanging_ms, past.known());
    let methods = Methods {
        library,
        interfaces: past.interfaces(),
    };
    let (measured, names) = (past.measured(span), past.services());
    history.sample(&stats, &processes, &measured, (&names, &methods))
}
