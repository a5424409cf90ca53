// SPDX-License-Identifier: Apache-2.0
//! What there is before the first event, by the driver's reports: the processes that have a device
//! open, and the calls that are under way, except for one-way calls that are handled already.
use crate::event::{monotonic_ns, Event, Transaction, What, TF_ONE_WAY};
use crate::thread_names::comm;
use anybinder_mount::binderfs;
use anybinder_mount::mount::Mount;
use anybinder_mount::state_report::{self, Process};
use std::collections::{BTreeMap, BTreeSet};

/// The calls of processes by their numbers, so that the outer ones of a thread come first; each
/// with its caller's thread.
fn calls(processes: &[Process]) -> BTreeMap<u32, (i32, What)> {
    let threads = processes.iter().flat_map(|one| &one.threads);
    let nodes = processes.iter().flat_map(|one| &one.nodes);
    let all = threads
        .flat_map(|one| one.outgoing.iter().chain(&one.incoming))
        .chain(nodes.flat_map(|one| &one.pending))
        .chain(processes.iter().flat_map(|one| &one.pending));
    // A call is in the lines of both sides, of which the receiver's say more.
    let mut calls: BTreeMap<u32, &state_report::Transaction> = BTreeMap::new();
    for one in all.filter(|one| !one.is_reply) {
        let known = calls.entry(one.id as u32).or_insert(one);
        if (one.node, one.bytes) > (known.node, known.bytes) {
            *known = one;
        }
    }
    let event = |(id, one): (u32, &state_report::Transaction)| {
        let transaction = Transaction {
            id,
            node: one.node.unwrap_or(0) as u32,
            from_pid: one.from_pid as i32,
            to_pid: one.to_pid as i32,
            to_tid: one.to_tid as i32,
            reply: false,
            code: one.code,
            flags: u32::from(one.is_oneway) * TF_ONE_WAY,
        };
        let call = What::Begun {
            transaction,
            age_ns: one.elapsed_ms.unwrap_or(0).saturating_mul(1_000_000),
            size: one.bytes,
        };
        (id, (one.from_tid as i32, call))
    };
    calls.into_iter().map(event).collect()
}

/// As events of this moment. What cannot be read is left out.
pub fn events(mount: &Mount) -> Vec<Event> {
    let time_ns = monotonic_ns();
    let open = binderfs::process_stats(mount).unwrap_or_default();
    let pids: BTreeSet<i32> = open.iter().map(|one| one.pid as i32).collect();
    let opened = pids.into_iter().map(|pid| {
        let name = comm(&format!("/proc/{pid}/comm"));
        (pid, What::Opened { pid, name })
    });
    let busy = state_report::busy_processes(mount).unwrap_or_default();
    opened
        .chain(calls(&busy).into_values())
        .map(|(tid, what)| Event {
            time_ns,
            tid,
            thread: None,
            what,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
proc 71
context binder
  thread 71: l 12 need_return 0 tr 0
    incoming transaction 40: 00aa from 70:70 to 71:71 code 1f flags 10 pri 0 a0 r0 elapsed 12ms \
node 3 size 4:0 offset 0
  node 3: u1 c2 hs 1 hw 1 ls 0 lw 0 is 2 iw 2 tr 1 proc 70
    pending async transaction 43: 00ad from 70:70 to 71:0 code 2 flags 11 pri 0 a1 r0 elapsed 9ms \
node 3 size 8:0 offset 0
proc 70
context binder
  thread 70: l 11 need_return 0 tr 0
    outgoing transaction 40: 00aa from 70:70 to 71:71 code 1f flags 10 pri 0 a0 r0 elapsed 12ms
    outgoing transaction 39: 00ab from 70:70 to 72:0 code 1 flags 10 pri 0 a0 r0
";

    #[test]
    fn calls_under_way_are_told_once_and_outer_ones_first() {
        let calls = calls(&state_report::parse(REPORT));
        assert_eq!(calls.keys().copied().collect::<Vec<_>>(), [39, 40, 43]);
        let of = |id| match &calls[&id] {
            (
                70,
                What::Begun {
                    transaction: one,
                    age_ns,
                    size,
                },
            ) => (one.node, one.to_tid, one.flags, *age_ns, *size),
            other => panic!("{other:?}"),
        };
        assert_eq!(of(39), (0, 0, 0, 0, 0));
        assert_eq!(of(40), (3, 71, 0, 12_000_000, 4));
        assert_eq!(of(43), (3, 0, TF_ONE_WAY, 9_000_000, 8));
    }
}
