// SPDX-License-Identifier: Apache-2.0
//! What each thread waits for, and circles of them.
//!
//! A thread that made a call waits for the thread that handles it, or, as long as none does, for
//! all threads of the receiver. A circle is a deadlock only if none in it can go on: a call that
//! comes back to the process it started from is handled by the thread that waits there, so that
//! processes which call each other wait in no circle. Hence threads are looked at, not processes:
//! those that go on are found first, then those that wait for one that does, and so on; who is left
//! waits for ever.
use anybinder_mount::state_report::{Process, Thread, Transaction};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Waiter {
    pub pid: u32,
    pub tid: u32,
}

/// The call that a thread waits for, unless it handles one that came meanwhile.
pub fn awaited(thread: &Thread) -> Option<&Transaction> {
    let made = thread.outgoing.iter().find(|call| !call.is_oneway);
    made.filter(|_| thread.awaits_reply)
}

/// The call that a thread handles, the innermost one.
pub fn handled(thread: &Thread) -> Option<&Transaction> {
    let mut calls = thread.incoming.iter();
    calls.find(|call| call.to_tid == thread.tid)
}

/// For whom a thread waits: (process, thread), where 0 is any thread.
type Waits = HashMap<Waiter, (u32, u32)>;

fn waits(processes: &[Process]) -> (HashMap<u32, Vec<Waiter>>, Waits) {
    let mut threads: HashMap<u32, Vec<Waiter>> = HashMap::new();
    let mut waits = Waits::new();
    for process in processes {
        for thread in &process.threads {
            let waiter = Waiter {
                pid: process.pid,
                tid: thread.tid,
            };
            threads.entry(process.pid).or_default().push(waiter);
            // A call back that it is about to take.
            let mut called_back = process.pending.iter();
            if called_back.any(|call| call.to_tid == thread.tid) {
                continue;
            }
            if let Some(call) = awaited(thread) {
                waits.insert(waiter, (call.to_pid, call.to_tid));
            }
        }
    }
    (threads, waits)
}

/// The threads that wait for ever.
fn stuck(threads: &HashMap<u32, Vec<Waiter>>, waits: &Waits) -> HashSet<Waiter> {
    // Who waits for a thread, and who waits for any thread of a process.
    let mut for_thread: HashMap<Waiter, Vec<Waiter>> = HashMap::new();
    let mut for_process: HashMap<u32, Vec<Waiter>> = HashMap::new();
    for (waiter, (pid, tid)) in waits {
        match tid {
            0 => for_process.entry(*pid).or_default().push(*waiter),
            tid => {
                let (pid, tid) = (*pid, *tid);
                let handler = Waiter { pid, tid };
                for_thread.entry(handler).or_default().push(*waiter);
            }
        }
    }
    let all = || threads.values().flatten();
    let mut to_do: Vec<Waiter> = all()
        .filter(|one| !waits.contains_key(one))
        .copied()
        .collect();
    // A receiver of which nothing is known may do anything.
    let known: HashSet<&Waiter> = all().collect();
    for (waiter, (pid, tid)) in waits {
        let receiver = Waiter {
            pid: *pid,
            tid: *tid,
        };
        let is_known = match tid {
            0 => threads.contains_key(pid),
            _ => known.contains(&receiver),
        };
        if !is_known {
            to_do.push(*waiter);
        }
    }
    let mut stuck: HashSet<Waiter> = waits.keys().copied().collect();
    for one in &to_do {
        stuck.remove(one);
    }
    while let Some(one) = to_do.pop() {
        let of_process = for_process.remove(&one.pid).unwrap_or_default();
        let of_thread = for_thread.remove(&one).unwrap_or_default();
        let freed = of_process.into_iter().chain(of_thread);
        to_do.extend(freed.filter(|waiter| stuck.remove(waiter)));
    }
    stuck
}

/// The circles, each once, from its least thread on.
pub fn circles(processes: &[Process]) -> Vec<Vec<Waiter>> {
    let (threads, waits) = waits(processes);
    let stuck = stuck(&threads, &waits);
    let next = |one: &Waiter| -> Option<Waiter> {
        let (pid, tid) = *waits.get(one)?;
        match tid {
            0 => threads.get(&pid)?.iter().copied().min(),
            tid => Some(Waiter { pid, tid }),
        }
    };
    let mut found: BTreeSet<Vec<Waiter>> = BTreeSet::new();
    let mut seen: HashSet<Waiter> = HashSet::new();
    for start in &stuck {
        let mut path = vec![*start];
        while let Some(one) = path.last().and_then(next) {
            if let Some(at) = path.iter().position(|before| *before == one) {
                let mut circle = path.split_off(at);
                let least = circle.iter().enumerate().min_by_key(|(_, one)| **one);
                let least = least.map_or(0, |(at, _)| at);
                circle.rotate_left(least);
                found.insert(circle);
                break;
            }
            if !seen.insert(one) {
                break;
            }
            path.push(one);
        }
    }
    found.into_iter().collect()
}

/// The processes of a circle, one after the other.
pub fn pids(circle: &[Waiter]) -> Vec<u32> {
    let mut pids: Vec<u32> = circle.iter().map(|one| one.pid).collect();
    pids.dedup();
    if pids.len() > 1 && pids.first() == pids.last() {
        pids.pop();
    }
    pids
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls that a thread handles, by id, and the call that it made: id, process, thread.
    type Calls<'a> = (&'a [u64], Option<(u64, u32, u32)>);

    fn process(pid: u32, threads: &[Calls]) -> Process {
        let thread = |at: usize, handles: &[u64], made: Option<(u64, u32, u32)>| {
            let tid = pid + at as u32;
            let call = |id, to_pid, to_tid| Transaction {
                id,
                to_pid,
                to_tid,
                ..Transaction::default()
            };
            Thread {
                tid,
                awaits_reply: made.is_some_and(|made| handles.iter().all(|id| *id < made.0)),
                incoming: handles.iter().map(|id| call(*id, pid, tid)).collect(),
                outgoing: made
                    .map(|(id, to_pid, to_tid)| call(id, to_pid, to_tid))
                    .into_iter()
                    .collect(),
                ..Thread::default()
            }
        };
        Process {
            pid,
            threads: threads
                .iter()
                .enumerate()
                .map(|(at, (handles, made))| thread(at, handles, *made))
                .collect(),
            ..Process::default()
        }
    }

    fn circles_of(processes: &[Process]) -> Vec<Vec<u32>> {
        circles(processes).iter().map(|one| pids(one)).collect()
    }

    #[test]
    fn processes_without_free_threads_that_call_each_other_wait_in_a_circle() {
        let one = process(10, &[(&[1], Some((3, 20, 0)))]);
        let other = process(20, &[(&[2], Some((4, 10, 0)))]);
        let client = process(30, &[(&[], Some((1, 10, 10)))]);
        let all = [one.clone(), other, client.clone()];
        assert_eq!(circles_of(&all), [vec![10, 20]]);
        // With a free thread, the call is about to be handled.
        let free = process(20, &[(&[2], Some((4, 10, 0))), (&[], None)]);
        assert!(circles_of(&[one, free, client]).is_empty());
    }

    #[test]
    fn a_call_back_is_no_circle() {
        // 10 calls 20, which calls back 10, whose waiting thread handles it.
        let one = process(10, &[(&[2], Some((1, 20, 20)))]);
        let other = process(20, &[(&[1], Some((2, 10, 10)))]);
        assert!(circles_of(&[one, other.clone()]).is_empty());
        // The receiver has not taken the call yet.
        let mut one = process(10, &[(&[], Some((1, 20, 20)))]);
        assert_eq!(circles_of(&[one.clone(), other.clone()]), [vec![10, 20]]);
        one.pending.push(Transaction {
            to_tid: 10,
            ..Transaction::default()
        });
        assert!(circles_of(&[one, other]).is_empty());
    }

    #[test]
    fn a_circle_of_one_and_of_three() {
        let own = process(10, &[(&[1], Some((2, 10, 0)))]);
        assert_eq!(circles_of(&[own]), [vec![10]]);
        let three = [(10, 20), (20, 30), (30, 10)]
            .map(|(pid, to)| process(pid, &[(&[u64::from(pid)], Some((99, to, 0)))]));
        assert_eq!(circles_of(&three), [vec![10, 20, 30]]);
        // The last process waits for one that is not seen.
        let open = [(10, 20), (20, 30), (30, 40)]
            .map(|(pid, to)| process(pid, &[(&[u64::from(pid)], Some((99, to, 0)))]));
        assert!(circles_of(&open).is_empty());
    }
}
