// SPDX-License-Identifier: Apache-2.0
//! A source that a thread of its own reads, so that events are taken from the driver, whose buffer
//! is limited, however long the receiver is busy with them.
use crate::event::{monotonic_ns, Event};
use crate::source::Source;
use anybinder_mount::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long one read waits.
const WAIT: Duration = Duration::from_millis(100);
/// While more events than this wait, none are read, and the driver drops some.
const EVENTS_MAX: usize = 2_000_000;
const PAUSE: Duration = Duration::from_millis(10);

/// The events of one read of the driver.
#[derive(Default)]
pub struct Portion {
    pub events: Vec<Event>,
    /// Earlier events are in earlier portions, or here.
    pub until_ns: u64,
}

pub struct Stream {
    portions: Option<Receiver<Result<Portion>>>,
    is_over: Arc<AtomicBool>,
    /// Events that were read and not received yet.
    waiting: Arc<AtomicUsize>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    pub fn start(mut source: Source) -> Self {
        let (sender, portions) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let waiting = Arc::new(AtomicUsize::new(0));
        let (stop, count) = (is_over.clone(), waiting.clone());
        let reader = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                if count.load(Ordering::Relaxed) > EVENTS_MAX {
                    std::thread::sleep(PAUSE);
                    continue;
                }
                let mut events = Vec::new();
                let before_ns = monotonic_ns();
                let read = source.read(WAIT, &mut events);
                let is_last = read.is_err();
                count.fetch_add(events.len(), Ordering::Relaxed);
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
            is_over,
            waiting,
            reader: Some(reader),
        }
    }

    /// The next portion, which may be empty.
    pub fn receive(&mut self) -> Result<Portion> {
        let portions = self.portions.as_ref().expect("until it is dropped");
        match portions.recv_timeout(10 * WAIT) {
            Ok(portion) => portion.inspect(|portion| {
                let size = portion.events.len();
                self.waiting.fetch_sub(size, Ordering::Relaxed);
            }),
            Err(RecvTimeoutError::Timeout) => Ok(Portion::default()),
            Err(RecvTimeoutError::Disconnected) => Err(Error::new("The events have ended.")),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.portions = None;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
