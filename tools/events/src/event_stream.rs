// SPDX-License-Identifier: Apache-2.0
//! A source that a thread of its own reads, so that events are taken from the driver, whose buffer
//! is limited, however long the receiver is busy with them. The receiver is idle (`SCHED_IDLE`)
//! unless it is late: what it does with the events shall not keep those waiting that it observes.
use crate::event::{monotonic_ns, Event};
use crate::event_source::Source;
use crate::idle::Idle;
use anybinder_cli::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

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
