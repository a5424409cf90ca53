// SPDX-License-Identifier: Apache-2.0
//! The source of events that a mount has.
use crate::event::Event;
use crate::ring::Ring;
use crate::tracefs::Tracefs;
use anybinder_mount::error::Result;
use anybinder_mount::mount::{Backend, Mount};
use std::time::Duration;

pub enum Source {
    Ring(Ring),
    Tracefs(Tracefs),
}

impl Source {
    /// Events from now on; `stages`: with those of the stages of round trips, where the driver
    /// measures them. Fails, with advice, if there are none or the user may not see them.
    pub fn open(mount: &Mount, stages: bool) -> Result<Self> {
        mount.check_served()?;
        match mount.backend() {
            Backend::Kernel => Ok(Source::Tracefs(Tracefs::open(stages)?)),
            _ => {
                let path = mount.file("binder_logs/events");
                Ok(Source::Ring(Ring::open(&path, stages)?))
            }
        }
    }

    /// Waits at most `wait` for events, and adds those that there are to `into`.
    pub fn read(&mut self, wait: Duration, into: &mut Vec<Event>) -> Result<()> {
        match self {
            Source::Ring(ring) => ring.read(wait, into),
            Source::Tracefs(tracefs) => tracefs.read(wait, into),
        }
    }
}
