// SPDX-License-Identifier: Apache-2.0
//! The graph: processes, and what one has to do with another.
//! The state says which process has a handle of which node, and which thread waits for whom.
use super::successors::Successors;
use crate::command::observing::system::backlog::{self, Backlog};
use crate::command::observing::system::known::Known;
use crate::command::observing::system::meter::{Calls, Latency, Measured, Meter};
use crate::command::observing::system::methods::{Methods, MANAGER};
use crate::command::observing::system::nodes::Nodes;
use crate::command::observing::system::past::{Past, NOT_RECORDED};
use crate::command::observing::system::text::{called, short_time};
use crate::command::observing::system::waits;
use crate::command::observing::top::rows::{Mark, Sample};
use anybinder_cli::error::{Error, Result};
use anybinder_cli::interrupt;
use anybinder_cli::output::harmless;
use anybinder_mount::context::Context;
use anybinder_mount::state_report::{self, Transaction};
use anybinder_parcel::aidl::Library;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    pub pid: u32,
    pub command: String,
    pub contexts: Vec<String>,
    pub services: Vec<String>,
    /// Threads, like the next field, are None in a recording.
    pub threads: Option<usize>,
    pub buffer_bytes: Option<u64>,
    /// Calls that wait for a thread.
    pub queued: usize,
    /// One-way calls that wait for their turn.
    pub backlogs: Vec<Backlog>,
    /// How often its services were restarted: in the last minute, or in the recording.
    pub restarts: Option<u32>,
    /// What `anybinder top` marks, in the page that is served.
    pub wrong: Vec<Mark>,
}

/// A call that has not ended.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    pub thread: u32,
    pub code: u32,
    /// The name of the method, if it is known.
    pub method: Option<String>,
    pub service: Option<String>,
    pub elapsed_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    /// Objects of `to` that `from` has handles of, and the services among them; in a recording
    /// only the services that it called.
    pub objects: Option<usize>,
    pub services: BTreeSet<String>,
    /// Calls of `from` that wait for `to`.
    pub waiting: Vec<Waiting>,
    /// One-way calls of `from` that wait for their turn.
    pub oneway_waiting: usize,
    /// Calls and one-way calls in the driver's log of the last transactions; None in a recording.
    pub recent: Option<usize>,
    /// With --for or --from: what was measured.
    pub rate: Option<Rate>,
}

/// Calls of one process to another.
#[derive(Clone, Debug, Serialize)]
pub struct Rate {
    pub calls_per_s: f64,
    pub errors_per_s: f64,
    pub bytes_per_s: f64,
    /// The latency of the calls that are not one-way.
    pub latency: Option<Latency>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Graph {
    pub processes: Vec<Process>,
    pub edges: Vec<Edge>,
    /// Processes that wait for each other in a circle.
    pub cycles: Vec<Vec<u32>>,
    /// With --for or --from: of how many seconds the rates are, how many events were lost, and why
    /// there are no rates.
    pub measured_s: Option<f64>,
    pub lost_events: u64,
    pub no_rates: Option<String>,
    /// What a recording does not have; None of what is there at present.
    pub not_recorded: Option<&'static str>,
}

impl Rate {
    /// Short, for an arrow.
    pub fn label(&self) -> String {
        let rate = format!("{:.0}/s", self.calls_per_s);
        match &self.latency {
            Some(latency) => format!("{rate} {}", short_time(latency.p50_us)),
            None => rate,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{:.1} calls/s", self.calls_per_s);
        if let Some(latency) = &self.latency {
            let (p50, p99) = (short_time(latency.p50_us), short_time(latency.p99_us));
            text += &format!(", p50 {p50}, p99 {p99}");
        }
        if self.errors_per_s > 0.0 {
            text += &format!(", {:.1} errors/s", self.errors_per_s);
        }
        text
    }
}

impl Process {
    pub fn title(&self) -> String {
        let services = match self.services.as_slice() {
            [] => String::new(),
            names => format!(" ({})", names.join(", ")),
        };
        harmless(&format!("{} {}{services}", self.pid, self.command))
    }

    /// The title with a line for each service, at most four.
    pub fn label(&self) -> String {
        let mut lines = vec![harmless(&format!("{} {}", self.pid, self.command))];
        lines.extend(self.services.iter().take(4).map(|name| harmless(name)));
        if self.services.len() > 4 {
            lines.push(format!("and {} more", self.services.len() - 4));
        }
        let backlogs = self.long_backlogs();
        lines.extend(backlogs.map(|one| format!("BACKLOG of {} calls", one.calls)));
        lines.extend(self.restarted().map(|count| format!("RESTARTS {count}")));
        let wrong = self.wrong.iter().map(|one| one.mark);
        let others = wrong.filter(|mark| !["BACKLOG", "RESTARTS"].contains(mark));
        lines.extend(others.map(str::to_string));
        lines.join("\n")
    }

    fn long_backlogs(&self) -> impl Iterator<Item = &Backlog> {
        let all = self.backlogs.iter();
        all.filter(|one| one.is_long(u64::MAX))
    }

    fn restarted(&self) -> Option<u32> {
        self.restarts.filter(|count| *count > 0)
    }

    /// What is wrong with it, in lines.
    pub fn marks(&self) -> Vec<String> {
        let backlogs = self.long_backlogs();
        let mut lines: Vec<String> = backlogs
            .map(|one| harmless(&format!("BACKLOG {}", one.text())))
            .collect();
        lines.extend(self.restarted().map(|count| format!("RESTARTS {count}")));
        let others = self.wrong.iter().filter(|one| one.mark != "BACKLOG");
        lines.extend(others.map(|one| harmless(&format!("{} {}", one.mark, one.why))));
        lines
    }

    fn matches(&self, word: &str) -> bool {
        self.pid.to_string() == word
            || self.command == word
            || self.services.iter().any(|service| service.contains(word))
    }
}

impl Waiting {
    fn text(&self) -> String {
        let elapsed = self
            .elapsed_ms
            .map_or_else(String::new, |ms| format!(" for {ms} ms"));
        let of = self
            .service
            .as_ref()
            .map_or_else(String::new, |name| format!(" of {name}"));
        let called = called(self.method.as_deref(), self.code);
        format!("thread {} waits{elapsed} for {called}{of}", self.thread)
    }
}

/// A number of things, in words.
fn counted(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

impl Edge {
    /// Short, for an arrow: objects and calls, as they are or, if they were counted, their rate.
    pub fn label(&self) -> String {
        let waiting = self.waiting.len() + self.oneway_waiting;
        let some = |number: Option<usize>| number.filter(|number| *number > 0);
        let counts = [
            some(self.objects).map(|objects| counted(objects, "object")),
            match &self.rate {
                Some(rate) => Some(rate.label()),
                None => some(self.recent).map(|calls| counted(calls, "call")),
            },
            (waiting > 0).then(|| format!("{waiting} waiting")),
        ];
        counts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// In lines without control characters.
    pub fn facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        let objects = self.objects.filter(|objects| *objects > 0);
        let objects = objects.map(|objects| counted(objects, "object"));
        let names: Vec<&str> = self.services.iter().map(String::as_str).collect();
        let names = (!names.is_empty()).then(|| names.join(", "));
        let both = [objects, names].into_iter().flatten().collect::<Vec<_>>();
        if !both.is_empty() {
            facts.push(both.join(": "));
        }
        if let Some(rate) = &self.rate {
            facts.push(rate.text());
        }
        if let (Some(calls @ 1..), None) = (self.recent, &self.rate) {
            facts.push(counted(calls, "recent call"));
        }
        facts.extend(self.waiting.iter().map(Waiting::text));
        match self.oneway_waiting {
            0 => {}
            1 => facts.push("1 one-way call waits".to_string()),
            calls => facts.push(format!("{calls} one-way calls wait")),
        }
        facts.iter().map(|fact| harmless(fact)).collect()
    }
}

impl Graph {
    /// Adds what `anybinder top` says of the same moment.
    pub fn add_marks(&mut self, sample: &Sample) {
        let rows: HashMap<u32, _> = sample.processes.iter().map(|row| (row.pid, row)).collect();
        for process in &mut self.processes {
            process.restarts = rows.get(&process.pid).and_then(|row| row.restarts);
            let marks = sample.marks.iter().filter(|one| one.pid == process.pid);
            process.wrong = marks.cloned().collect();
        }
    }

    /// An order in which a service keeps its place, whatever its process.
    pub fn put_in_order(&mut self) {
        let key = |one: &Process| (one.services.clone(), one.command.clone(), one.pid);
        self.processes.sort_by_cached_key(key);
    }

    pub fn name_methods(&mut self, methods: &Methods) {
        for one in self.edges.iter_mut().flat_map(|edge| &mut edge.waiting) {
            one.method = methods.name(one.service.as_deref(), one.code);
        }
    }

    /// The processes by pid.
    pub fn by_pid(&self) -> HashMap<u32, &Process> {
        let processes = self.processes.iter();
        processes.map(|process| (process.pid, process)).collect()
    }

    /// The time that the rates are of, or why there are none.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match (&self.no_rates, self.measured_s) {
            (Some(why), _) => notes.push(format!("no rates: {why}")),
            (None, Some(time_s)) => notes.push(format!("rates and latencies of {time_s:.1} s")),
            _ => {}
        }
        notes.extend(self.not_recorded.map(str::to_string));
        if self.lost_events > 0 {
            notes.push(format!("{} events were lost", self.lost_events));
        }
        notes
    }

    fn keep(&mut self, wanted: impl Fn(u32) -> bool) {
        self.processes.retain(|process| wanted(process.pid));
        self.edges
            .retain(|edge| wanted(edge.from) && wanted(edge.to));
    }

    pub fn without_manager(&mut self) {
        let is_manager = |process: &&Process| process.services.iter().any(|name| name == MANAGER);
        let managers: Vec<u32> = self
            .processes
            .iter()
            .filter(is_manager)
            .map(|process| process.pid)
            .collect();
        let managers: BTreeSet<u32> = managers.into_iter().collect();
        self.keep(|pid| !managers.contains(&pid));
    }

    fn nothing(&self, word: &str) -> Error {
        match self.not_recorded {
            Some(_) => Error::with_advice(
                format!("The recording has no process {word}, and no calls of such a service."),
                "See those that it has without --only; the service manager needs --manager.",
            ),
            None => Error::with_advice(
                format!("No process {word} has a device open, and no service has such a name."),
                "See `anybinder ps` and `anybinder list`; the service manager needs --manager.",
            ),
        }
    }

    /// Keeps the processes that a word names, and their neighbours. Fails, with advice, if one of
    /// the words names none.
    pub fn only(&mut self, words: &[String]) -> Result<()> {
        let is_known = |word: &String| self.processes.iter().any(|one| one.matches(word));
        if let Some(word) = words.iter().find(|word| !is_known(word)) {
            return Err(self.nothing(word));
        }
        self.keep_neighbours(words);
        Ok(())
    }

    /// Keeps the processes that a word names, and their neighbours.
    pub fn keep_neighbours(&mut self, words: &[String]) {
        let named = |process: &&Process| words.iter().any(|word| process.matches(word));
        let named: BTreeSet<u32> = self
            .processes
            .iter()
            .filter(named)
            .map(|process| process.pid)
            .collect();
        self.edges
            .retain(|edge| named.contains(&edge.from) || named.contains(&edge.to));
        let mut shown = named;
        shown.extend(self.edges.iter().flat_map(|edge| [edge.from, edge.to]));
        self.keep(|pid| shown.contains(&pid));
    }
}

/// What is put together.
struct Builder<'a> {
    known: &'a Known,
    processes: BTreeMap<u32, Process>,
    edges: BTreeMap<(u32, u32), Edge>,
    nodes: HashMap<u64, String>,
}

impl Builder<'_> {
    fn edge(&mut self, from: u32, to: u32) -> &mut Edge {
        let nothing = (!self.known.is_recorded()).then_some(0);
        self.edges.entry((from, to)).or_insert_with(|| Edge {
            from,
            to,
            objects: nothing,
            recent: nothing,
            ..Edge::default()
        })
    }

    /// Adds the processes of calls that were measured and that have ended since.
    fn add_ended(&mut self, measured: &Measured) {
        let ended = self.edges.keys().flat_map(|(from, to)| [*from, *to]);
        for pid in ended
            .filter(|pid| !self.processes.contains_key(pid))
            .collect::<BTreeSet<_>>()
        {
            if let Some(command) = measured.commands.get(&pid) {
                self.processes.insert(
                    pid,
                    Process {
                        pid,
                        command: command.clone(),
                        ..Process::default()
                    },
                );
            }
        }
    }

    fn add(&mut self, one: &state_report::Process) {
        let nothing = (!self.known.is_recorded()).then_some(0);
        let process = self.processes.entry(one.pid).or_insert_with(|| Process {
            pid: one.pid,
            command: self.known.command(one.pid),
            contexts: Vec::new(),
            services: Vec::new(),
            threads: nothing,
            buffer_bytes: nothing.map(|bytes| bytes as u64),
            queued: 0,
            backlogs: Vec::new(),
            restarts: None,
            wrong: Vec::new(),
        });
        if nothing.is_some() {
            process.contexts.push(one.context.clone());
        }
        process.threads = process.threads.map(|count| count + one.threads.len());
        process.buffer_bytes = process.buffer_bytes.map(|used| used + one.buffer_bytes);
        process.queued += one.pending.len();
        let backlogs = backlog::at_a_look(one, &self.nodes, self.known);
        process.backlogs.extend(backlogs.clone());
        for node in &one.nodes {
            let name = self.nodes.get(&node.id).cloned();
            process.services.extend(name.clone());
        }
        for node in &one.nodes {
            let name = self.nodes.get(&node.id).cloned();
            for holder in node.holders.iter().filter(|holder| **holder != one.pid) {
                let edge = self.edge(*holder, one.pid);
                edge.objects = edge.objects.map(|count| count + 1);
                edge.services.extend(name.clone());
            }
        }
        let senders = backlogs.iter().flat_map(|backlog| &backlog.senders);
        for sender in senders.filter(|sender| sender.pid > 0) {
            self.edge(sender.pid, one.pid).oneway_waiting += sender.calls;
        }
        for thread in &one.threads {
            for call in thread.outgoing.iter().filter(|call| !call.is_oneway) {
                self.wait(thread.tid, call);
            }
        }
    }

    fn add_rates(&mut self, measured: &Measured) {
        let mut sums: BTreeMap<(u32, u32), (Calls, Calls)> = BTreeMap::new();
        for (key, calls) in &measured.calls {
            let (all, awaited) = sums.entry((key.from, key.to)).or_default();
            *all += calls;
            if !key.is_oneway {
                *awaited += calls;
            }
        }
        for ((from, to), (all, awaited)) in sums {
            if self.processes.contains_key(&from) && self.processes.contains_key(&to) {
                self.edge(from, to).rate = Some(Rate {
                    calls_per_s: measured.per_s(all.calls),
                    errors_per_s: measured.per_s(all.errors),
                    bytes_per_s: measured.per_s(all.bytes),
                    latency: awaited.latency(),
                });
            }
        }
    }

    fn wait(&mut self, thread: u32, call: &Transaction) {
        let service = call.node.and_then(|node| self.nodes.get(&node)).cloned();
        let waiting = Waiting {
            thread,
            code: call.code,
            method: None,
            service,
            elapsed_ms: call.elapsed_ms,
        };
        self.edge(call.from_pid, call.to_pid).waiting.push(waiting);
    }
}

/// Puts together what the state and the transaction log say; this process is left out.
pub fn build(
    processes: &[state_report::Process],
    nodes: &HashMap<u64, String>,
    logged: &[state_report::Logged],
    measured: Option<&Measured>,
    known: &Known,
) -> Graph {
    let mut builder = Builder {
        known,
        processes: BTreeMap::new(),
        edges: BTreeMap::new(),
        nodes: nodes.clone(),
    };
    let own = known.own();
    for process in processes.iter().filter(|process| process.pid != own) {
        builder.add(process);
    }
    for one in logged {
        let known = |pid| builder.processes.contains_key(&pid);
        if one.kind != "reply" && known(one.from_pid) && known(one.to_pid) {
            let recent = &mut builder.edge(one.from_pid, one.to_pid).recent;
            *recent = recent.map(|calls| calls + 1);
        }
    }
    if let Some(measured) = measured {
        builder.add_rates(measured);
        builder.add_ended(measured);
    }
    let known = builder.processes;
    let is_known = |edge: &Edge| known.contains_key(&edge.from) && known.contains_key(&edge.to);
    let mut graph = Graph {
        edges: builder.edges.into_values().filter(is_known).collect(),
        processes: known.into_values().collect(),
        not_recorded: builder.known.is_recorded().then_some(NOT_RECORDED),
        ..Graph::default()
    };
    for process in &mut graph.processes {
        process.contexts.sort();
        process.contexts.dedup();
        process.services.sort();
        process.services.dedup();
    }
    if let Some(measured) = measured {
        graph.measured_s = Some(measured.elapsed_s);
        graph.lost_events = measured.lost;
        graph.no_rates.clone_from(&measured.missing);
    }
    let cycles = waits::circles(processes);
    graph.cycles = cycles.iter().map(|circle| waits::pids(circle)).collect();
    graph
}

/// `time`: how long calls are counted; None: not at all.
pub fn collect(
    context: &Context,
    device: &str,
    time: Option<Duration>,
    library: Option<Library>,
) -> Result<Graph> {
    let mut nodes = Nodes::open(context, device)?;
    if library.is_some() {
        nodes.ask_for_interfaces();
    }
    let measured = match time {
        Some(time) => Some(measure(context, time)?),
        None => None,
    };
    let processes = nodes.update(|| state_report::processes(&context.mount))?;
    let logged = state_report::logged(&context.mount, "transaction_log").unwrap_or_default();
    let measured = measured.as_ref();
    let mut graph = build(&processes, nodes.names(), &logged, measured, &Known::Now);
    graph.name_methods(&Methods {
        library,
        interfaces: nodes.interfaces(),
    });
    Ok(graph)
}

/// The graph of a recording, with what was under way at its end.
pub fn of_past(past: &Past, library: Option<Library>) -> Result<Graph> {
    let span = past.span(None, Duration::ZERO)?;
    let (mut processes, services) = (past.processes(span.end), past.services());
    let successors = Successors::of(&processes, &services);
    successors.replace(&mut processes);
    let measured = successors.measured(past.measured(&span));
    let mut graph = build(&processes, &services, &[], Some(&measured), &past.known());
    for process in &mut graph.processes {
        process.restarts = successors.restarts.get(&process.pid).copied();
    }
    graph.name_methods(&Methods {
        library,
        interfaces: past.interfaces(),
    });
    Ok(graph)
}

/// An interrupt ends it early, and what was counted is shown.
fn measure(context: &Context, time: Duration) -> Result<Measured> {
    interrupt::defer();
    let mut meter = Meter::start(&context.mount, false);
    let end = Instant::now() + time;
    while Instant::now() < end && interrupt::check().is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
    context.mount.check_served()?;
    Ok(meter.take())
}
