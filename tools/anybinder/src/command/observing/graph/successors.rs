// SPDX-License-Identifier: Apache-2.0
//! A service that was started again and again has one place in the graph of a recording: the
//! processes that were it one after the other count as the last of them.
use crate::command::observing::system::meter::{Calls, Key, Measured};
use crate::command::observing::system::methods::MANAGER;
use anybinder_mount::state_report;
use std::collections::{BTreeSet, HashMap};

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
