// SPDX-License-Identifier: Apache-2.0
//! A callback object made of a closure; a test can wait for its events and its end.
use crate::aidl::{BnCallback, ICallback};
use rsbinder::{BinderResult, Interface, Strong};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

type Answer = Box<dyn Fn(i32) -> i32 + Send + Sync>;

/// What has happened to a callback so far.
#[derive(Default)]
pub struct EventLog {
    inner: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    events: Vec<i32>,
    dropped: bool,
}

impl EventLog {
    fn write(&self, note: impl FnOnce(&mut State)) {
        note(&mut self.inner.lock().unwrap());
        self.changed.notify_all();
    }

    fn wait(&self, patience: Duration, done: impl Fn(&State) -> bool) -> bool {
        let end = Instant::now() + patience;
        let mut state = self.inner.lock().unwrap();
        while !done(&state) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap().0;
        }
        true
    }

    /// Waits for `count` events and returns those that arrived.
    pub fn events(&self, count: usize, patience: Duration) -> Vec<i32> {
        self.wait(patience, |state| state.events.len() >= count);
        self.inner.lock().unwrap().events.clone()
    }

    /// Waits until the last reference to the object is dropped.
    pub fn is_dropped(&self, patience: Duration) -> bool {
        self.wait(patience, |state| state.dropped)
    }
}

pub struct Callback {
    answer: Answer,
    log: Arc<EventLog>,
}

impl Callback {
    /// An object that answers `onValue` with the closure.
    pub fn binder(answer: impl Fn(i32) -> i32 + Send + Sync + 'static) -> Strong<dyn ICallback> {
        Self::with_log(answer).0
    }

    /// A callback, and the log of what happens to it.
    pub fn with_log(
        answer: impl Fn(i32) -> i32 + Send + Sync + 'static,
    ) -> (Strong<dyn ICallback>, Arc<EventLog>) {
        let log = Arc::new(EventLog::default());
        let callback = Callback {
            answer: Box::new(answer),
            log: log.clone(),
        };
        (BnCallback::new_binder(callback), log)
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        self.log.write(|state| state.dropped = true);
    }
}

impl Interface for Callback {}

impl ICallback for Callback {
    fn onValue(&self, value: i32) -> BinderResult<i32> {
        Ok((self.answer)(value))
    }

    fn onEvent(&self, value: i32) -> BinderResult<()> {
        self.log.write(|state| state.events.push(value));
        Ok(())
    }

    fn ownerPid(&self) -> BinderResult<i32> {
        Ok(std::process::id() as i32)
    }
}
