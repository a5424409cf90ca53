// SPDX-License-Identifier: Apache-2.0
//! A callback object made of a closure; it can be waited for, and its end can be seen.
use crate::aidl::{BnCallback, ICallback};
use rsbinder::{BinderResult, Interface, Strong};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

type Answer = Box<dyn Fn(i32) -> i32 + Send + Sync>;

/// What has happened to a callback so far.
#[derive(Default)]
pub struct Diary {
    inner: Mutex<Pages>,
    turned: Condvar,
}

#[derive(Default)]
struct Pages {
    events: Vec<i32>,
    dropped: bool,
}

impl Diary {
    fn write(&self, note: impl FnOnce(&mut Pages)) {
        note(&mut self.inner.lock().unwrap());
        self.turned.notify_all();
    }

    fn wait(&self, patience: Duration, done: impl Fn(&Pages) -> bool) -> bool {
        let end = Instant::now() + patience;
        let mut pages = self.inner.lock().unwrap();
        while !done(&pages) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            pages = self.turned.wait_timeout(pages, left).unwrap().0;
        }
        true
    }

    /// Waits for `count` events and returns those that came.
    pub fn events(&self, count: usize, patience: Duration) -> Vec<i32> {
        self.wait(patience, |pages| pages.events.len() >= count);
        self.inner.lock().unwrap().events.clone()
    }

    /// Waits until nobody holds the object any more.
    pub fn is_dropped(&self, patience: Duration) -> bool {
        self.wait(patience, |pages| pages.dropped)
    }
}

pub struct Callback {
    answer: Answer,
    diary: Arc<Diary>,
}

impl Callback {
    /// An object that answers `onValue` with the closure.
    pub fn binder(answer: impl Fn(i32) -> i32 + Send + Sync + 'static) -> Strong<dyn ICallback> {
        Self::with_diary(answer).0
    }

    /// The same, and the diary of what happens to it.
    pub fn with_diary(
        answer: impl Fn(i32) -> i32 + Send + Sync + 'static,
    ) -> (Strong<dyn ICallback>, Arc<Diary>) {
        let diary = Arc::new(Diary::default());
        let callback = Callback {
            answer: Box::new(answer),
            diary: diary.clone(),
        };
        (BnCallback::new_binder(callback), diary)
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        self.diary.write(|pages| pages.dropped = true);
    }
}

impl Interface for Callback {}

impl ICallback for Callback {
    fn onValue(&self, value: i32) -> BinderResult<i32> {
        Ok((self.answer)(value))
    }

    fn onEvent(&self, value: i32) -> BinderResult<()> {
        self.diary.write(|pages| pages.events.push(value));
        Ok(())
    }

    fn ownerPid(&self) -> BinderResult<i32> {
        Ok(std::process::id() as i32)
    }
}
