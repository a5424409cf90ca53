// SPDX-License-Identifier: Apache-2.0
//! The graph: processes, and what one has to do with another.
//!
//! The state says which process has a handle of which node. A node's service is found through a
//! handle of our own: a lookup gives this process a handle, whose node its part of the state names.
use crate::command::list;
use anybinder_client::device;
use anybinder_client::raw::{Reply, Request};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::process::command_name;
use anybinder_mount::state::{self, Transaction};
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::Parcel;
use anybinder_parcel::status;
use anybinder_parcel::types::{Kind, Type};
use rsbinder::{ProcessState, SIBinder};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How many services are looked up for the names of their objects.
const MAX_SERVICES: usize = 4096;
/// The service manager's own name.
const MANAGER: &str = "manager";

#[derive(Clone, Debug, Serialize)]
pub struct Process {
    pub pid: u32,
    pub command: String,
    pub contexts: Vec<String>,
    pub services: Vec<String>,
    pub threads: usize,
    pub buffer_bytes: u64,
    /// Calls that wait for a thread.
    pub queued: usize,
}

/// A call that has not ended.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    pub thread: u32,
    pub code: u32,
    pub service: Option<String>,
    pub elapsed_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    /// Objects of `to` that `from` has handles of, and the services among them.
    pub objects: usize,
    pub services: BTreeSet<String>,
    /// Calls of `from` that wait for `to`.
    pub waiting: Vec<Waiting>,
    /// Calls and one-way calls in the driver's log of the last transactions.
    pub recent: usize,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Graph {
    pub processes: Vec<Process>,
    pub edges: Vec<Edge>,
    /// Processes that wait for each other in a circle.
    pub cycles: Vec<Vec<u32>>,
}

impl Process {
    pub fn title(&self) -> String {
        match self.services.is_empty() {
            true => format!("{} {}", self.pid, self.command),
            false => format!(
                "{} {} ({})",
                self.pid,
                self.command,
                self.services.join(", ")
            ),
        }
    }

    /// The title with a line for each service, at most four.
    pub fn label(&self) -> String {
        let mut lines = vec![format!("{} {}", self.pid, self.command)];
        lines.extend(self.services.iter().take(4).cloned());
        if self.services.len() > 4 {
            lines.push(format!("and {} more", self.services.len() - 4));
        }
        lines.join("\n")
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
        format!(
            "thread {} waits{elapsed} for code {}{of}",
            self.thread, self.code
        )
    }
}

impl Edge {
    pub fn facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        if self.objects > 0 {
            let names: Vec<&str> = self.services.iter().map(String::as_str).collect();
            let plural = if self.objects == 1 { "" } else { "s" };
            facts.push(match names.is_empty() {
                true => format!("{} object{plural}", self.objects),
                false => format!("{} object{plural}: {}", self.objects, names.join(", ")),
            });
        }
        if self.recent > 0 {
            facts.push(format!("{} recent calls", self.recent));
        }
        facts.extend(self.waiting.iter().map(Waiting::text));
        facts
    }
}

impl Graph {
    pub fn process(&self, pid: u32) -> Option<&Process> {
        self.processes.iter().find(|process| process.pid == pid)
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
        self.keep(|pid| !managers.contains(&pid));
    }

    /// Keeps the processes that a word names, and their neighbours.
    pub fn only(&mut self, words: &[String]) {
        let named = |process: &&Process| words.iter().any(|word| process.matches(word));
        let named: BTreeSet<u32> = self
            .processes
            .iter()
            .filter(named)
            .map(|process| process.pid)
            .collect();
        self.edges
            .retain(|edge| named.contains(&edge.from) || named.contains(&edge.to));
        let mut kept = named;
        kept.extend(self.edges.iter().flat_map(|edge| [edge.from, edge.to]));
        self.keep(|pid| kept.contains(&pid));
    }

    /// Follows the calls that wait, from process to process.
    fn find_cycles(&mut self) {
        let waits: BTreeMap<u32, Vec<u32>> = self
            .edges
            .iter()
            .filter(|edge| !edge.waiting.is_empty())
            .fold(BTreeMap::new(), |mut waits, edge| {
                waits
                    .entry(edge.from)
                    .or_insert_with(Vec::new)
                    .push(edge.to);
                waits
            });
        let mut found: BTreeSet<Vec<u32>> = BTreeSet::new();
        for start in waits.keys() {
            let (mut seen, mut to_do) = (HashMap::new(), vec![*start]);
            while let Some(at) = to_do.pop() {
                for next in waits.get(&at).into_iter().flatten() {
                    if next == start {
                        let mut path = vec![at];
                        while let Some(before) = seen.get(path.last().unwrap_or(&at)) {
                            path.push(*before);
                        }
                        path.reverse();
                        let least = path.iter().enumerate().min_by_key(|(_, pid)| **pid);
                        let first = least.map_or(0, |(index, _)| index);
                        path.rotate_left(first);
                        found.insert(path);
                    } else if !seen.contains_key(next) && next != start {
                        seen.insert(*next, at);
                        to_do.push(*next);
                    }
                }
            }
        }
        self.cycles = found.into_iter().collect();
    }
}

/// What `getService` is at every level of the service manager.
const GET_SERVICE: u32 = 1;

/// Asks the service manager for a service, and nothing of the service, which may hang. The handle
/// is kept as long as the reply is.
fn handle_of(manager: &SIBinder, name: &str) -> Option<(u32, Reply)> {
    let mut request = Request::with_header(manager).ok()?;
    let mut plan = Parcel::default();
    plan.string16(name);
    let no_service = |_: &str| Err(Error::new("A name has no objects."));
    request.append(&plan, &no_service).ok()?;
    let reply = request.send(manager, GET_SERVICE, 0).ok()?;
    let mut decoder = Decoder::new(&reply.data, None);
    if !matches!(status::read(&mut decoder), Ok(None)) {
        return None;
    }
    let object = decoder.value(&Type::of(Kind::Binder), 0).ok()?;
    let handle = u32::try_from(object.get("handle")?.as_u64()?).ok()?;
    Some((handle, reply))
}

/// The names of this process's handles of registered services.
fn service_handles(context: &Context, device: &str) -> Result<HashMap<u32, String>> {
    let manager = device::service_manager(&context.mount, device)?;
    let listed = list::services(&manager)?;
    let object = ProcessState::as_self().context_object();
    let object = object.map_err(|err| device::call_error("The service manager is gone", err))?;
    let mut names = HashMap::new();
    for service in listed.into_iter().take(MAX_SERVICES) {
        if let Some((handle, reply)) = handle_of(&object, &service.name) {
            names.insert(handle, service.name);
            // Given back when this process ends.
            std::mem::forget(reply);
        }
    }
    Ok(names)
}

/// The names of nodes, by the handles of this process. Empty where there is no service manager.
pub fn service_nodes(context: &Context, device: &str) -> Result<HashMap<u64, String>> {
    device::open(&context.mount, device, 0)?;
    let names = service_handles(context, device).unwrap_or_default();
    let own = std::process::id();
    let mut nodes = HashMap::new();
    for process in state::processes(&context.mount)? {
        if process.pid == own && process.context == device {
            for handle in process.handles {
                if let Some(name) = names.get(&handle.number) {
                    nodes.insert(handle.node, name.clone());
                }
            }
        }
    }
    Ok(nodes)
}

/// What is put together.
#[derive(Default)]
struct Builder {
    processes: BTreeMap<u32, Process>,
    edges: BTreeMap<(u32, u32), Edge>,
    nodes: HashMap<u64, String>,
}

impl Builder {
    fn edge(&mut self, from: u32, to: u32) -> &mut Edge {
        self.edges.entry((from, to)).or_insert_with(|| Edge {
            from,
            to,
            ..Edge::default()
        })
    }

    fn add(&mut self, one: &state::Process) {
        let process = self.processes.entry(one.pid).or_insert_with(|| Process {
            pid: one.pid,
            command: command_name(one.pid),
            contexts: Vec::new(),
            services: Vec::new(),
            threads: 0,
            buffer_bytes: 0,
            queued: 0,
        });
        process.contexts.push(one.context.clone());
        process.threads += one.threads.len();
        process.buffer_bytes += one.buffer_bytes;
        process.queued += one.pending.len();
        for node in &one.nodes {
            let name = self.nodes.get(&node.id).cloned();
            process.services.extend(name.clone());
        }
        for node in &one.nodes {
            let name = self.nodes.get(&node.id).cloned();
            for holder in node.holders.iter().filter(|holder| **holder != one.pid) {
                let edge = self.edge(*holder, one.pid);
                edge.objects += 1;
                edge.services.extend(name.clone());
            }
        }
        for thread in &one.threads {
            for call in thread.outgoing.iter().filter(|call| !call.is_oneway) {
                self.wait(thread.tid, call);
            }
        }
    }

    fn wait(&mut self, thread: u32, call: &Transaction) {
        let service = call.node.and_then(|node| self.nodes.get(&node)).cloned();
        let waiting = Waiting {
            thread,
            code: call.code,
            service,
            elapsed_ms: call.elapsed_ms,
        };
        self.edge(call.from_pid, call.to_pid).waiting.push(waiting);
    }
}

/// Puts together what the state and the transaction log say; this process is left out.
pub fn build(
    processes: &[state::Process],
    nodes: &HashMap<u64, String>,
    logged: &[state::Logged],
) -> Graph {
    let mut builder = Builder {
        nodes: nodes.clone(),
        ..Builder::default()
    };
    let own = std::process::id();
    for process in processes.iter().filter(|process| process.pid != own) {
        builder.add(process);
    }
    for one in logged {
        let known = |pid| builder.processes.contains_key(&pid);
        if one.kind != "reply" && known(one.from_pid) && known(one.to_pid) {
            builder.edge(one.from_pid, one.to_pid).recent += 1;
        }
    }
    let known = builder.processes;
    let is_known = |edge: &Edge| known.contains_key(&edge.from) && known.contains_key(&edge.to);
    let mut graph = Graph {
        edges: builder.edges.into_values().filter(is_known).collect(),
        processes: known.into_values().collect(),
        cycles: Vec::new(),
    };
    for process in &mut graph.processes {
        process.contexts.sort();
        process.contexts.dedup();
        process.services.sort();
    }
    graph.find_cycles();
    graph
}

pub fn collect(context: &Context, device: &str) -> Result<Graph> {
    let nodes = service_nodes(context, device)?;
    let processes = state::processes(&context.mount)?;
    let logged = state::logged(&context.mount, "transaction_log").unwrap_or_default();
    Ok(build(&processes, &nodes, &logged))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(waits: &[(u32, u32)]) -> Graph {
        let waiting = || Waiting {
            thread: 1,
            code: 1,
            service: None,
            elapsed_ms: None,
        };
        let edges = waits.iter().map(|(from, to)| Edge {
            from: *from,
            to: *to,
            waiting: vec![waiting()],
            ..Edge::default()
        });
        let mut graph = Graph {
            edges: edges.collect(),
            ..Graph::default()
        };
        graph.find_cycles();
        graph
    }

    #[test]
    fn cycles_are_found_once() {
        assert!(graph(&[(1, 2), (2, 3), (1, 3)]).cycles.is_empty());
        assert_eq!(
            graph(&[(1, 2), (2, 3), (3, 1), (4, 1)]).cycles,
            [vec![1, 2, 3]]
        );
        assert_eq!(graph(&[(5, 6), (6, 5)]).cycles, [vec![5, 6]]);
    }
}
