// SPDX-License-Identifier: Apache-2.0
//! The progress of a measurement: a line every few seconds on standard error, so that the results
//! can be piped.
use std::time::{Duration, Instant};

const LINE_INTERVAL: Duration = Duration::from_secs(10);

pub struct Progress {
    done: u64,
    steps: u64,
    start: Instant,
    last_line: Instant,
}

impl Progress {
    /// Begins with `steps` steps to do.
    pub fn new(steps: u64) -> Self {
        Progress {
            done: 0,
            steps,
            start: Instant::now(),
            last_line: Instant::now(),
        }
    }

    /// Shows from time to time what is being done now.
    pub fn at(&mut self, what: &str) {
        if self.last_line.elapsed() < LINE_INTERVAL {
            return;
        }
        self.last_line = Instant::now();
        let (done, steps, spent_s) = (self.done, self.steps, self.start.elapsed().as_secs());
        let left_s = steps.saturating_sub(done) * spent_s / done.max(1);
        eprintln!("{done} of {steps} done after {spent_s} s, about {left_s} s left: {what}");
    }

    /// One step is done.
    pub fn step(&mut self) {
        self.done += 1;
    }
}
