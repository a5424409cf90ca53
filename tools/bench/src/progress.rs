// SPDX-License-Identifier: Apache-2.0
//! The progress of a measurement: a bar on a terminal, elsewhere a line every few seconds; on
//! standard error, so that the results can be piped.
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Removes its bar when dropped.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    start: Instant,
    last_line: Instant,
}

impl Progress {
    /// Begins with `steps` steps to do.
    pub fn new(steps: u64) -> Self {
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} % {msg} ({eta} left)")
            .expect("a fixed template");
        Progress {
            bar: ProgressBar::new(steps).with_style(style),
            is_terminal: std::io::stderr().is_terminal(),
            start: Instant::now(),
            last_line: Instant::now(),
        }
    }

    /// Shows what is being done now.
    pub fn at(&mut self, what: String) {
        if self.is_terminal {
            self.bar.set_message(what);
        } else if self.last_line.elapsed() > LINE_INTERVAL {
            self.last_line = Instant::now();
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let spent_s = self.start.elapsed().as_secs();
            let left_s = (all - done) * spent_s / done.max(1);
            eprintln!("{done} of {all} done after {spent_s} s, about {left_s} s left: {what}");
        }
    }

    /// One step is done.
    pub fn step(&mut self) {
        self.bar.inc(1);
    }

    /// Prints a line above the bar.
    pub fn note(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
