// SPDX-License-Identifier: Apache-2.0
//! The source of events that a mount has.
use crate::event::{Event, Extra};
use crate::ring::Ring;
use crate::tracefs::Tracefs;
use anybinder_cli::error::Result;
use anybinder_mount::mount::{Backend, Mount};
use std::time::Duration;

pub enum Source {
    Ring(Ring),
    Tracefs(Tracefs),
}

impl Source {
    /// Events from now on. Fails, with advice, if there are none or the user may not see them.
    pub fn open(mount: &Mount, extra: Extra) -> Result<Self> {
        mount.check_served()?;
        match mount.backend() {
            Backend::Kernel => Ok(Source::Tracefs(Tracefs::open(extra)?)),
            _ => {
                let path = mount.file("binder_logs/events");
                Ok(Source::Ring(Ring::open(&path, extra)?))
            }
        }
    }

    /// Whether the driver gives the data of calls to those who ask for it.
    pub fn has_data(&self) -> bool {
        match self {
            Source::Ring(ring) => ring.has_data,
            Source::Tracefs(tracefs) => tracefs.has_data,
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
