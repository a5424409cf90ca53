// SPDX-License-Identifier: Apache-2.0
//! What is known of processes beside the driver's reports.
use super::{buffer_size, thread_priority};
use anybinder_events::event::Priority;
use anybinder_mount::process::command_name;
use std::collections::HashMap;

pub enum Known {
    /// What `/proc` says.
    Now,
    /// What `/proc` says, but not the names of programs.
    Nameless,
    /// The names of programs, by process: all that a recording has.
    Recorded(HashMap<u32, String>),
}

impl Known {
    pub fn is_recorded(&self) -> bool {
        matches!(self, Known::Recorded(_))
    }

    /// This process, which is left out; 0: there is none.
    pub fn own(&self) -> u32 {
        match self.is_recorded() {
            true => 0,
            false => std::process::id(),
        }
    }

    pub fn command(&self, pid: u32) -> String {
        match self {
            Known::Now => command_name(pid),
            Known::Nameless => String::new(),
            Known::Recorded(names) => names.get(&pid).map_or("-", String::as_str).to_string(),
        }
    }

    pub fn buffer_size(&self, pid: u32) -> Option<u64> {
        (!self.is_recorded()).then(|| buffer_size::buffer_size(pid))
    }

    /// Policy and priority of a thread at this moment.
    pub fn scheduling(&self, pid: u32, tid: u32) -> Option<String> {
        match self.is_recorded() {
            true => None,
            false => thread_priority::of_thread(pid, tid).map(Priority::word),
        }
    }
}
