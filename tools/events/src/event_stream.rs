// SPDX-License-Identifier: Apache-2.0
//! A source that a thread of its own reads, so that events are taken from the driver, whose buffer
//! is limited, however long the receiver is busy with them. The receiver is idle (`SCHED_IDLE`)
//! unless it is late: what it does with the events shall not keep those waiting that it observes.
//! The thread goes before others, as what it misses is lost.
use crate::beforehand;
use crate::event::{monotonic_ns, Event, Extra};
use crate::ring::Ring;
use crate::tracefs::Tracefs;
use anybinder_cli::error::{Error, Result};
use anybinder_mount::mount::{Backend, Mount};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two reads, unless one left something: with the data of calls, with details, and without.
/// The driver keeps several times as many events as 60,000 calls in a second have meanwhile.
const INTERVAL_OF_DATA: Duration = Duration::from_millis(10);
const INTERVAL: Duration = Duration::from_millis(50);
const INTERVAL_OF_LEAN: Duration = Duration::from_millis(100);
/// How long one read waits.
const WAIT: Duration = Duration::from_millis(100);
/// While more events than this wait, none are read, and the driver drops some.
const EVENTS_MAX: usize = 2_000_000;
const PAUSE: Duration = Duration::from_millis(10);
/// The receiver is late if so many events wait, or if it has not asked for so long.
const LATE_EVENTS: usize = 100_000;
const LATE_NS: u64 = 500_000_000;
/// How long it is ordinary then: where it was late, all processors are wanted, and may go on so.
const ORDINARY_NS: u64 = 10_000_000_000;
/// The nice value of the thread that reads. Among sixteen pairs on two processors an ordinary one
/// came too late, and a sixth of the events were lost; it takes a twentieth of a processor.
const READER_NICE: libc::c_int = -10;

/// The events of one read of the driver.
#[derive(Default)]
pub struct Portion {
    pub events: Vec<Event>,
    /// Earlier events are in earlier portions, or here.
    pub until_ns: u64,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    /// Events that were read and not received yet.
    waiting: AtomicUsize,
    /// When the receiver asked last.
    asked_ns: AtomicU64,
}

impl Shared {
    /// Whether the receiver is late.
    fn is_late(&self, now_ns: u64) -> bool {
        let silent_ns = now_ns.saturating_sub(self.asked_ns.load(Ordering::Relaxed));
        self.waiting.load(Ordering::Relaxed) > LATE_EVENTS || silent_ns > LATE_NS
    }
}

pub struct Stream {
    portions: Option<Receiver<Result<Portion>>>,
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    /// The caller is the receiver.
    pub fn start(mut source: Source) -> Self {
        let (sender, portions) = channel();
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        let mut receiver = Idle::this_thread();
        let mut ordinary_until_ns = 0;
        shared.asked_ns.store(monotonic_ns(), Ordering::Relaxed);
        let reader = std::thread::spawn(move || {
            // SAFETY: a plain call, about this thread alone. Who may not stays ordinary.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, READER_NICE) };
            while !own.is_over.load(Ordering::Relaxed) {
                if let Some(receiver) = &mut receiver {
                    let now_ns = monotonic_ns();
                    if own.is_late(now_ns) {
                        ordinary_until_ns = now_ns + ORDINARY_NS;
                    }
                    receiver.set(now_ns >= ordinary_until_ns);
                }
                if own.waiting.load(Ordering::Relaxed) > EVENTS_MAX {
                    std::thread::sleep(PAUSE);
                    continue;
                }
                let mut events = Vec::new();
                let before_ns = monotonic_ns();
                let read = source.read(WAIT, &mut events);
                let is_last = read.is_err();
                own.waiting.fetch_add(events.len(), Ordering::Relaxed);
                let newest_ns = events.iter().map(|event| event.time_ns).max();
                let portion = Portion {
                    until_ns: newest_ns.unwrap_or(before_ns),
                    events,
                };
                if sender.send(read.map(|()| portion)).is_err() || is_last {
                    return;
                }
            }
        });
        Stream {
            portions: Some(portions),
            shared,
            reader: Some(reader),
        }
    }

    /// The next portion, which may be empty.
    pub fn receive(&mut self) -> Result<Portion> {
        let portions = self.portions.as_ref().expect("until it is dropped");
        self.shared
            .asked_ns
            .store(monotonic_ns(), Ordering::Relaxed);
        match portions.recv_timeout(10 * WAIT) {
            Ok(portion) => portion.inspect(|portion| {
                let size = portion.events.len();
                self.shared.waiting.fetch_sub(size, Ordering::Relaxed);
            }),
            Err(RecvTimeoutError::Timeout) => Ok(Portion::default()),
            Err(RecvTimeoutError::Disconnected) => Err(Error::new("The events have ended.")),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.portions = None;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// A thread that may be made idle (`SCHED_IDLE` of sched(7)), and is ordinary again when this is
/// dropped. One that wakes up takes the processor from an idle thread at once, and from an ordinary
/// one only after a while.
pub struct Idle {
    tid: libc::pid_t,
    is_idle: bool,
}

fn schedule(tid: libc::pid_t, policy: libc::c_int) -> bool {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: a live structure, which is only read.
    unsafe { libc::sched_setscheduler(tid, policy, &raw const param) == 0 }
}

/// Whether this process may make an idle thread ordinary again, which takes CAP_SYS_NICE or
/// RLIMIT_NICE; tried with a thread that ends then.
fn may_return() -> bool {
    let trial = || schedule(0, libc::SCHED_IDLE) && schedule(0, libc::SCHED_OTHER);
    std::thread::spawn(trial).join().unwrap_or(false)
}

impl Idle {
    /// The calling thread; None if it could not return, or was given a policy by its user.
    pub fn this_thread() -> Option<Self> {
        // SAFETY: plain calls.
        let (policy, tid) = unsafe { (libc::sched_getscheduler(0), libc::gettid()) };
        (policy == libc::SCHED_OTHER && may_return()).then_some(Idle {
            tid,
            is_idle: false,
        })
    }

    /// Any thread of the process may call it.
    pub fn set(&mut self, idle: bool) {
        let policy = [libc::SCHED_OTHER, libc::SCHED_IDLE][usize::from(idle)];
        if idle != self.is_idle && schedule(self.tid, policy) {
            self.is_idle = idle;
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.set(false);
    }
}

enum Driver {
    Ring(Ring),
    Tracefs(Tracefs),
}

/// The events of a driver. While they come they are read in portions, at intervals: a reader that
/// waits for the next one is woken, and asks the daemon, for each, at the cost of those that it
/// observes.
pub struct Source {
    driver: Driver,
    /// When the next portion is due, and how long after it the one behind it.
    due: Instant,
    interval: Duration,
    /// What there was before, until it has its place in the stream.
    before: Vec<Event>,
}

impl Source {
    /// Events from now on. Fails, with advice, if there are none or the user may not see them.
    pub fn open(mount: &Mount, extra: Extra) -> Result<Self> {
        mount.check_served()?;
        let driver = match mount.backend() {
            Backend::Kernel => Driver::Tracefs(Tracefs::open(mount.is_rust_driver(), extra)?),
            _ => Driver::Ring(Ring::open(&mount.file("binder_logs/events"), extra)?),
        };
        Ok(Source {
            driver,
            due: Instant::now(),
            interval: match extra {
                Extra { data: true, .. } => INTERVAL_OF_DATA,
                Extra { is_lean: true, .. } => INTERVAL_OF_LEAN,
                _ => INTERVAL,
            },
            before: beforehand::events(mount),
        })
    }

    /// Puts what there was before at its place among the new events, or behind them, if no others
    /// of that time are to come.
    fn put_before(&mut self, has_more: bool, first: usize, into: &mut Vec<Event>) {
        let Some(taken_ns) = self.before.first().map(|event| event.time_ns) else {
            return;
        };
        let mut new = into[first..].iter();
        let later = new.position(|event| event.time_ns >= taken_ns);
        let place = later.map(|at| first + at);
        if let Some(at) = place.or((!has_more).then_some(into.len())) {
            into.splice(at..at, self.before.drain(..));
        }
    }

    /// Whether the driver gives the data of calls to those who ask for it.
    pub fn has_data(&self) -> bool {
        match &self.driver {
            Driver::Ring(ring) => ring.has_data,
            Driver::Tracefs(tracefs) => tracefs.has_data,
        }
    }

    /// Waits for the next portion, and then at most `wait` for events; adds those that there are
    /// to `into`.
    pub fn read(&mut self, wait: Duration, into: &mut Vec<Event>) -> Result<()> {
        std::thread::sleep(self.due.saturating_duration_since(Instant::now()));
        let first = into.len();
        let has_more = match &mut self.driver {
            Driver::Ring(ring) => ring.read(wait, into)?,
            Driver::Tracefs(tracefs) => tracefs.read(wait, into)?,
        };
        self.put_before(has_more, first, into);
        self.due = Instant::now();
        if !has_more {
            self.due += self.interval;
        }
        Ok(())
    }
}
