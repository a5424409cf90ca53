// SPDX-License-Identifier: Apache-2.0
//! The progress of a measurement: one line on a terminal, elsewhere a line every few seconds; on
//! standard error, so that the results can be piped.
use std::io::IsTerminal;
use std::time::{Duration, Instant};

const LINE_INTERVAL: Duration = Duration::from_secs(10);
const CLEAR_LINE: &str = "\r\x1b[K";

/// Removes its line from a terminal when dropped.
pub struct Progress {
    done: u64,
    steps: u64,
    is_terminal: bool,
    start: Instant,
    last_line: Instant,
}

impl Progress {
    /// Begins with `steps` steps to do.
    pub fn new(steps: u64) -> Self {
        Progress {
            done: 0,
            steps,
            is_terminal: std::io::stderr().is_terminal(),
            start: Instant::now(),
            last_line: Instant::now(),
        }
    }

    /// Shows what is being done now.
    pub fn at(&mut self, what: &str) {
        if !self.is_terminal && self.last_line.elapsed() < LINE_INTERVAL {
            return;
        }
        self.last_line = Instant::now();
        let (done, steps, spent_s) = (self.done, self.steps, self.start.elapsed().as_secs());
        let left_s = steps.saturating_sub(done) * spent_s / done.max(1);
        let line =
            format!("{done} of {steps} done after {spent_s} s, about {left_s} s left: {what}");
        match self.is_terminal {
            true => eprint!("{CLEAR_LINE}{line}"),
            false => eprintln!("{line}"),
        }
    }

    /// One step is done.
    pub fn step(&mut self) {
        self.done += 1;
    }

    /// Prints a line that stays.
    pub fn note(&self, line: &str) {
        let clear = if self.is_terminal { CLEAR_LINE } else { "" };
        eprintln!("{clear}{line}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal {
            eprint!("{CLEAR_LINE}");
        }
    }
}
