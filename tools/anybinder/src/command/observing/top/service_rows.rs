// SPDX-License-Identifier: Apache-2.0
//! What is known of each service: its methods, its callers, and what waits for it.
use super::rows::{Caller, Method, Seen, ServiceRow};
use crate::command::observing::system::meter::{Calls, Key, Measured};
use crate::command::observing::system::thread_priority;
use anybinder_events::event::Priority;
use anybinder_mount::state_report::{self, Process, Transaction};
use std::collections::{BTreeMap, HashMap};

fn methods(
    calls: &[(&Key, &Calls)],
    measured: &Measured,
    name: impl Fn(u32) -> Option<String>,
) -> Vec<Method> {
    let mut methods: BTreeMap<(u32, bool), Calls> = BTreeMap::new();
    for (key, calls) in calls {
        *methods.entry((key.code, key.is_oneway)).or_default() += *calls;
    }
    let mut methods: Vec<Method> = methods
        .into_iter()
        .map(|((code, is_oneway), calls)| Method {
            name: name(code),
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
    node: &state_report::Node,
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

pub fn services(
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
            let priority = node
                .priority
                .as_deref()
                .and_then(thread_priority::of_report);
            rows.push(ServiceRow {
                name: name.clone(),
                pid: process.pid,
                command: seen.command(process.pid),
                calls_per_s: rate(all.calls),
                errors_per_s: rate(all.errors),
                latency: awaited.latency(),
                waiting: node.pending.len() + process.pending.iter().filter(of_node).count(),
                restarts: None,
                methods: methods(&calls, measured, |code| seen.methods.name(Some(name), code)),
                callers: callers(node, &calls, measured, seen, own),
                backlog: seen.backlogs.get(&node.id).cloned(),
                priority: priority.map(Priority::word),
            });
        }
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}
