// SPDX-License-Identifier: Apache-2.0
//! A service that is started again and again has one place in the graph: the processes that were
//! it one after the other count as the last of them, and one that is gone stays for a while.
use super::model::{Graph, Process, MANAGER};
use crate::command::observing::system::meter::{Calls, Key, Measured};
use crate::command::observing::top::rows::Mark;
use anybinder_mount::state_report;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// How long a service that is gone is shown.
const SHOWN: Duration = Duration::from_secs(60);

/// The services that there were, by their names.
#[derive(Default)]
pub struct Gone(HashMap<Vec<String>, (Process, Instant)>);

impl Gone {
    /// Adds to a graph the services that were there in the last minute and are not.
    pub fn look(&mut self, graph: &mut Graph) {
        let now = Instant::now();
        for process in graph
            .processes
            .iter()
            .filter(|one| !one.services.is_empty())
        {
            self.0
                .insert(process.services.clone(), (process.clone(), now));
        }
        self.0.retain(|_, (_, seen)| seen.elapsed() < SHOWN);
        let there = graph.processes.iter().flat_map(|one| &one.services);
        let there: BTreeSet<String> = there.cloned().collect();
        let gone = self.0.values().filter(|(one, seen)| {
            *seen < now && !one.services.iter().any(|name| there.contains(name))
        });
        for (one, seen) in gone {
            let why = format!("it is gone, since {} s", seen.elapsed().as_secs());
            graph.processes.push(Process {
                threads: None,
                buffer_bytes: None,
                queued: 0,
                backlogs: Vec::new(),
                wrong: vec![Mark {
                    mark: "GONE",
                    pid: one.pid,
                    command: one.command.clone(),
                    why,
                }],
                ..one.clone()
            });
        }
    }
}

/// For each process of a recording that was a service before another one was it: that other one,
/// and how often that happened, by the last process.
pub struct Successors {
    last: HashMap<u32, u32>,
    pub restarts: HashMap<u32, u32>,
}

impl Successors {
    /// * `names`: of services, by node
    pub fn of(processes: &[state_report::Process], names: &HashMap<u64, String>) -> Successors {
        let mut same: HashMap<BTreeSet<&String>, Vec<u32>> = HashMap::new();
        for process in processes {
            let nodes = process.nodes.iter();
            let services: BTreeSet<&String> =
                nodes.filter_map(|node| names.get(&node.id)).collect();
            if !services.is_empty() && !services.iter().any(|name| *name == MANAGER) {
                same.entry(services).or_default().push(process.pid);
            }
        }
        let (mut last, mut restarts) = (HashMap::new(), HashMap::new());
        for pids in same.values().filter(|pids| pids.len() > 1) {
            let newest = pids.iter().copied().max().unwrap_or_default();
            last.extend(pids.iter().map(|pid| (*pid, newest)));
            restarts.insert(newest, pids.len() as u32 - 1);
        }
        Successors { last, restarts }
    }

    fn turn(&self, pid: &mut u32) {
        *pid = self.last.get(pid).copied().unwrap_or(*pid);
    }

    /// Names the last process in place of those before it.
    pub fn replace(&self, processes: &mut [state_report::Process]) {
        for process in processes {
            self.turn(&mut process.pid);
            let of_nodes = process.nodes.iter_mut();
            of_nodes
                .flat_map(|node| &mut node.holders)
                .for_each(|pid| self.turn(pid));
            let of_threads = process.threads.iter_mut();
            let calls = of_threads.flat_map(|one| one.outgoing.iter_mut().chain(&mut one.incoming));
            let of_nodes = process.nodes.iter_mut().flat_map(|one| &mut one.pending);
            for call in calls.chain(of_nodes).chain(&mut process.pending) {
                self.turn(&mut call.from_pid);
                self.turn(&mut call.to_pid);
            }
        }
    }

    pub fn measured(&self, measured: Measured) -> Measured {
        let mut calls: HashMap<Key, Calls> = HashMap::new();
        for (mut key, counted) in measured.calls {
            self.turn(&mut key.from);
            self.turn(&mut key.to);
            *calls.entry(key).or_default() += &counted;
        }
        Measured { calls, ..measured }
    }
}
