// SPDX-License-Identifier: Apache-2.0
//! Lines on standard error about what peers do. There is one a second at most, so that a peer
//! cannot fill a log.
use anybinder_cli::output::note;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);

/// When the last line was written, and how many have been left out since.
static LAST: Mutex<(Option<Instant>, u64)> = Mutex::new((None, 0));

/// Writes a line, a whole sentence, or counts it.
pub fn log_peer(text: &str) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.0.is_some_and(|at| at.elapsed() < INTERVAL) {
        last.1 += 1;
        return;
    }
    let left_out = match last.1 {
        0 => String::new(),
        count => format!(" ({count} lines before it were left out.)"),
    };
    *last = (Some(Instant::now()), 0);
    note(format_args!("anybinder: {text}{left_out}"));
}
