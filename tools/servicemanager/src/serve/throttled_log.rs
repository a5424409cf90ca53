// SPDX-License-Identifier: Apache-2.0
//! Messages on standard error, at most so many a second: clients cause them.
use anybinder_cli::output::note;
use std::time::{Duration, Instant};

const MAX_A_SECOND: u32 = 10;

pub struct Log {
    device: String,
    since: Instant,
    written: u32,
    dropped: u64,
}

impl Log {
    pub fn new(device: &str) -> Log {
        Log {
            device: device.to_string(),
            since: Instant::now(),
            written: 0,
            dropped: 0,
        }
    }

    pub fn write(&mut self, message: &str) {
        if self.since.elapsed() >= Duration::from_secs(1) {
            if self.dropped > 0 {
                let dropped = self.dropped;
                note(format_args!(
                    "{}: {dropped} more messages were dropped",
                    self.device
                ));
            }
            self.since = Instant::now();
            self.written = 0;
            self.dropped = 0;
        }
        if self.written == MAX_A_SECOND {
            self.dropped += 1;
            return;
        }
        self.written += 1;
        // Names come from clients; a terminal must not obey them.
        let printable: String = message
            .chars()
            .map(|letter| if letter.is_control() { '?' } else { letter })
            .take(500)
            .collect();
        note(format_args!("{}: {printable}", self.device));
    }
}
