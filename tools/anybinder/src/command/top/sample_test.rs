// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::command::observe::meter::Calls;
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
