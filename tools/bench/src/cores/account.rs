// SPDX-License-Identifier: Apache-2.0
//! What the kernel's scheduler did during a measurement, from its trace events: which thread woke
//! which, on the same processor or on another one, and what that took.
//!
//! Needs root and tracefs.
use anybinder_events::tracefs_instance::Instance;
use anybinder_mount::error::Result;
use serde::Serialize;

const NEEDED: [&str; 3] = [
    "sched/sched_waking",
    "sched/sched_switch",
    "sched/sched_migrate_task",
];
/// What one processor sends to interrupt another, by architecture.
const INTERRUPTS: [&str; 4] = [
    "irq_vectors/reschedule_entry",
    "irq_vectors/call_function_single_entry",
    "irq_vectors/call_function_entry",
    "ipi/ipi_entry",
];
/// For each processor: a second of some 20,000 calls.
const BUFFER_KIB: u32 = 49152;

/// How often something happened: on the same processor, and from one processor to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Crossing {
    pub same: f64,
    pub other: f64,
}

/// Counts of a measurement, or per call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Switches to a thread of an end or of the daemon.
    pub switches: f64,
    /// Wake-ups of a daemon's thread by an end.
    pub requests: Crossing,
    /// Wake-ups of an end by a daemon's thread.
    pub replies: Crossing,
    /// Wake-ups of an end by an end: what a driver in the kernel, a socket or a pipe does.
    pub direct: Crossing,
    /// Wake-ups of either by a timer: a thread slept for a time, for instance for a lock.
    pub timers: f64,
    /// Threads of either that went on on another processor.
    pub migrations: f64,
    /// Interrupts between processors, of all programs.
    pub interrupts: f64,
    /// Events that did not fit the buffers.
    pub lost: f64,
}

impl Crossing {
    fn count(&mut self, is_same: bool) {
        if is_same {
            self.same += 1.0;
        } else {
            self.other += 1.0;
        }
    }

    fn per(self, calls: f64) -> Self {
        Crossing {
            same: self.same / calls,
            other: self.other / calls,
        }
    }
}

impl Counts {
    pub fn per(self, calls: f64) -> Self {
        Counts {
            switches: self.switches / calls,
            requests: self.requests.per(calls),
            replies: self.replies.per(calls),
            direct: self.direct.per(calls),
            timers: self.timers / calls,
            migrations: self.migrations / calls,
            interrupts: self.interrupts / calls,
            lost: self.lost / calls,
        }
    }
}

/// What a thread is part of, by the name of its program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Party {
    End,
    Daemon,
    Other,
}

fn party(name: &str) -> Party {
    if name.starts_with("bench-") {
        Party::End
    } else if name.starts_with("anybinder") || name.starts_with("dbus-") {
        Party::Daemon
    } else {
        Party::Other
    }
}

/// One line of a trace: `NAME-TID [CPU] FLAGS TIME: EVENT: FIELDS`.
struct Event<'a> {
    name: &'a str,
    cpu: u32,
    in_interrupt: bool,
    event: &'a str,
    fields: &'a str,
}

fn parse(line: &str) -> Option<Event<'_>> {
    let (task, rest) = line.split_once(" [")?;
    let (cpu, rest) = rest.split_once("] ")?;
    let (flags, rest) = rest.trim_start().split_once(' ')?;
    let (_time, rest) = rest.split_once(": ")?;
    let (event, fields) = rest.split_once(": ")?;
    Some(Event {
        name: task.trim().rsplit_once('-')?.0,
        cpu: cpu.parse().ok()?,
        in_interrupt: flags.contains(['h', 'H']),
        event,
        fields,
    })
}

/// The text between `before` and `after`: a name may contain spaces.
fn between<'a>(fields: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let begin = fields.find(before)? + before.len();
    let rest = &fields[begin..];
    Some(&rest[..rest.find(after)?])
}

fn count_waking(counts: &mut Counts, event: &Event) -> Option<()> {
    let woken = party(between(event.fields, "comm=", " pid=")?);
    let (_, target) = event.fields.rsplit_once("target_cpu=")?;
    let is_same = target.trim().parse::<u32>().ok()? == event.cpu;
    if woken == Party::Other {
        return None;
    }
    if event.in_interrupt {
        counts.timers += 1.0;
        return None;
    }
    match (party(event.name), woken) {
        (Party::End, Party::Daemon) => counts.requests.count(is_same),
        (Party::Daemon, Party::End) => counts.replies.count(is_same),
        (Party::End, Party::End) => counts.direct.count(is_same),
        _ => {}
    }
    Some(())
}

fn count_event(counts: &mut Counts, event: &Event) {
    match event.event {
        "sched_waking" => {
            count_waking(counts, event);
        }
        "sched_switch" => {
            let next = between(event.fields, "next_comm=", " next_pid=").unwrap_or("");
            if party(next) != Party::Other {
                counts.switches += 1.0;
            }
        }
        "sched_migrate_task" => {
            let moved = between(event.fields, "comm=", " pid=").unwrap_or("");
            if party(moved) != Party::Other {
                counts.migrations += 1.0;
            }
        }
        _ => counts.interrupts += 1.0,
    }
}

/// The line in which a trace says how much of it there is: `#  entries-in-buffer/entries-written:
/// 205/250  #P:2`.
fn lost(line: &str) -> Option<f64> {
    let numbers = line.split_once("entries-written:")?.1.trim();
    let (kept, rest) = numbers.split_once('/')?;
    let written = rest.split_whitespace().next()?;
    Some(written.parse::<f64>().ok()? - kept.parse::<f64>().ok()?)
}

fn count(text: &str) -> Counts {
    let mut counts = Counts::default();
    for line in text.lines() {
        if line.starts_with('#') {
            counts.lost += lost(line).unwrap_or(0.0);
        } else if let Some(event) = parse(line) {
            count_event(&mut counts, &event);
        }
    }
    counts
}

/// Counts while it exists.
pub struct Account {
    instance: Instance,
}

impl Account {
    /// Fails where there is no tracefs, or no right to use it.
    pub fn open() -> Result<Self> {
        let instance = Instance::new("cores", BUFFER_KIB)?;
        instance.set("tracing_on", "0")?;
        for event in NEEDED {
            instance.enable(event, true)?;
        }
        for event in INTERRUPTS {
            let _ = instance.enable(event, true);
        }
        Ok(Account { instance })
    }

    /// Counts what happens from now on.
    pub fn start(&self) -> Result<()> {
        self.instance.clear()?;
        self.instance.set("tracing_on", "1")
    }

    /// What happened since `start()`.
    pub fn stop(&self) -> Result<Counts> {
        self.instance.set("tracing_on", "0")?;
        Ok(count(&self.instance.text()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "# tracer: nop\n\
        # entries-in-buffer/entries-written: 205/250   #P:2\n\
        bench-ipc-77      [000] d..2. 12.000001: sched_waking: \
        comm=anybinderd pid=70 prio=120 target_cpu=001\n\
        <idle>-0       [001] dNh2. 12.000002: sched_waking: \
        comm=anybinderd pid=71 prio=120 target_cpu=001\n\
        <idle>-0       [001] d..2. 12.000003: sched_switch: \
        prev_comm=swapper/1 prev_pid=0 ==> next_comm=anybinderd next_pid=70\n\
        anybinderd-70      [001] d..2. 12.000004: sched_waking: \
        comm=bench-ipc pid=78 prio=120 target_cpu=001\n\
        anybinderd-70      [001] d..2. 12.000005: sched_waking: \
        comm=a b-c pid=9 prio=120 target_cpu=001\n\
        bench-ipc-78      [001] d..2. 12.000006: sched_migrate_task: \
        comm=bench-ipc pid=77 orig_cpu=0 dest_cpu=1\n\
        bench-ipc-78      [001] d..2. 12.000006: sched_waking: \
        comm=bench-ipc pid=77 prio=120 target_cpu=000\n\
        <idle>-0       [000] d.h1. 12.000007: reschedule_entry: \
        vector=253\n";

    #[test]
    fn events_are_counted_by_what_they_concern() {
        let wanted = Counts {
            switches: 1.0,
            requests: Crossing {
                same: 0.0,
                other: 1.0,
            },
            replies: Crossing {
                same: 1.0,
                other: 0.0,
            },
            direct: Crossing {
                same: 0.0,
                other: 1.0,
            },
            timers: 1.0,
            migrations: 1.0,
            interrupts: 1.0,
            lost: 45.0,
        };
        assert_eq!(count(TRACE), wanted);
        assert_eq!(count(TRACE).per(2.0).replies.same, 0.5);
    }

    #[test]
    fn lines_of_another_kind_count_as_nothing() {
        for text in [
            "",
            "# nothing",
            "garbage",
            "x-1 [000] d..2. 1.0: sched_waking: comm=",
        ] {
            assert_eq!(count(text), Counts::default(), "{text}");
        }
    }
}
