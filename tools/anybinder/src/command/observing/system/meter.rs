// SPDX-License-Identifier: Apache-2.0
//! How often each method is called, by whom, and how long the calls take.
//!
//! The driver's counters say how many calls a process made; which methods, and how long they took,
//! is in the events alone (`anybinder trace` prints them). A thread of its own reads the events,
//! puts calls together, and adds them up until they are taken.
use anybinder_cli::error::Result;
use anybinder_events::calls::{Assembler, Call};
use anybinder_events::event::{monotonic_ns, Extra, Priority};
use anybinder_events::event_stream::Source;
use anybinder_events::thread_names::Names;
use anybinder_mount::mount::Mount;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long one read waits for events.
const WAIT: Duration = Duration::from_millis(50);

/// A method as it is called by one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub node: u64,
    pub code: u32,
    pub is_oneway: bool,
    pub from: u32,
    pub to: u32,
}

/// Times of calls, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
}

/// Calls that were added up.
#[derive(Clone, Debug)]
pub struct Calls {
    pub calls: u64,
    pub errors: u64,
    pub bytes: u64,
    /// Calls that were served less urgently than their caller ran; of the last one the caller's
    /// priority and that with which it was served.
    pub not_inherited: u64,
    pub priorities: Option<(Priority, Priority)>,
    /// From the call until its reply; of a one-way call, until its receiver is done with it. And
    /// the part of it until a thread took the call. In nanoseconds.
    times: Histogram<u32>,
    queued: Histogram<u32>,
}

impl Default for Calls {
    fn default() -> Self {
        let empty = || Histogram::new(2).expect("two digits are possible");
        Calls {
            calls: 0,
            errors: 0,
            bytes: 0,
            not_inherited: 0,
            priorities: None,
            times: empty(),
            queued: empty(),
        }
    }
}

fn record(times: &mut Histogram<u32>, time_ns: u64) {
    times.record(time_ns.max(1)).expect("it grows as needed");
}

fn latency(times: &Histogram<u32>) -> Option<Latency> {
    let at = |quantile| times.value_at_quantile(quantile) as f64 / 1e3;
    (!times.is_empty()).then(|| Latency {
        p50_us: at(0.5),
        p99_us: at(0.99),
        max_us: times.max() as f64 / 1e3,
    })
}

impl Calls {
    fn add(&mut self, call: &Call) {
        self.calls += 1;
        self.errors += u64::from(call.error.is_some());
        self.bytes += call.size.unwrap_or(0) + call.reply_size.unwrap_or(0);
        if call.not_inherited {
            self.not_inherited += 1;
            self.priorities = call.priority.zip(call.served_at);
        }
        if let Some(time_ns) = call.duration_ns() {
            record(&mut self.times, time_ns);
        }
        if let Some(received_ns) = call.received_ns {
            record(&mut self.queued, received_ns.saturating_sub(call.sent_ns));
        }
    }

    /// How many calls took at most so long.
    pub fn count_within(&self, us: u64) -> u64 {
        self.times.count_between(0, us * 1000)
    }

    /// How many calls have a time, and all times together.
    pub fn timed(&self) -> u64 {
        self.times.len()
    }

    pub fn sum_s(&self) -> f64 {
        self.times.mean() * self.times.len() as f64 / 1e9
    }

    /// None if no call has ended.
    pub fn latency(&self) -> Option<Latency> {
        latency(&self.times)
    }

    pub fn queued(&self) -> Option<Latency> {
        latency(&self.queued)
    }
}

impl AddAssign<&Calls> for Calls {
    fn add_assign(&mut self, other: &Calls) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.not_inherited += other.not_inherited;
        self.priorities = other.priorities.or(self.priorities);
        self.times.add(&other.times).expect("it grows as needed");
        self.queued.add(&other.queued).expect("it grows as needed");
    }
}

/// What was measured in a time.
#[derive(Clone, Default)]
pub struct Measured {
    pub calls: HashMap<Key, Calls>,
    pub elapsed_s: f64,
    /// Events that the driver could not keep.
    pub lost: u64,
    /// The names of the processes, some of which may have ended.
    pub commands: HashMap<u32, String>,
    /// Why nothing was measured, in a line.
    pub missing: Option<String>,
}

impl Measured {
    pub fn add(&mut self, call: &Call) {
        let key = key(call);
        for (pid, thread) in [(key.from, &call.from), (key.to, &call.to)] {
            if !thread.process.is_empty() {
                let command = self.commands.entry(pid);
                command.or_insert_with(|| thread.process.clone());
            }
        }
        self.calls.entry(key).or_default().add(call);
    }

    pub fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.elapsed_s.max(0.001)
    }
}

/// Measures until it is dropped.
pub struct Meter {
    found: Arc<Mutex<Measured>>,
    ended: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    since: Instant,
}

fn locked(found: &Mutex<Measured>) -> MutexGuard<'_, Measured> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(call: &Call) -> Key {
    Key {
        node: call.node.into(),
        code: call.code,
        is_oneway: call.oneway,
        from: call.from.pid.unsigned_abs(),
        to: call.to.pid.unsigned_abs(),
    }
}

/// Reads events until `ended`, and adds the calls up in `found`.
fn read(mut source: Source, ended: &AtomicBool, found: &Mutex<Measured>) -> Result<()> {
    let (mut assembler, mut names) = (Assembler::default(), Names::default());
    let own = std::process::id();
    let mut events = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        source.read(WAIT, &mut events)?;
        for event in events.drain(..) {
            assembler.push(&event, &mut names);
        }
        names.take_new();
        let calls = assembler.take(monotonic_ns());
        let mut found = locked(found);
        found.lost += std::mem::take(&mut assembler.lost);
        for call in calls.iter().filter(|call| !call.unfinished) {
            let key = key(call);
            if key.from != own && key.to != own {
                found.add(call);
            }
        }
    }
    Ok(())
}

impl Meter {
    /// Where the events may not be read, all that is measured says why.
    ///
    /// * `is_lean`: sizes and priorities are not measured
    pub fn start(mount: &Mount, is_lean: bool) -> Meter {
        let found = Arc::new(Mutex::new(Measured::default()));
        let ended = Arc::new(AtomicBool::new(false));
        let extra = Extra {
            is_lean,
            ..Extra::default()
        };
        let reader = match Source::open(mount, extra) {
            Ok(source) => {
                let (found, ended) = (found.clone(), ended.clone());
                Some(std::thread::spawn(move || {
                    if let Err(err) = read(source, &ended, &found) {
                        locked(&found).missing = Some(err.line());
                    }
                }))
            }
            Err(err) => {
                locked(&found).missing = Some(err.line());
                None
            }
        };
        Meter {
            found,
            ended,
            reader,
            since: Instant::now(),
        }
    }

    /// What was measured since the last time.
    pub fn take(&mut self) -> Measured {
        let mut found = locked(&self.found);
        let missing = found.missing.clone();
        let mut taken = std::mem::take(&mut *found);
        found.missing.clone_from(&missing);
        taken.elapsed_s = self.since.elapsed().as_secs_f64();
        taken.missing = missing;
        self.since = Instant::now();
        taken
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            // The kernel's instance of the tracer is removed when its reader is gone.
            let _ = reader.join();
        }
    }
}
