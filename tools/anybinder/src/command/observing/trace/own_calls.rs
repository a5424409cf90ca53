// SPDX-License-Identifier: Apache-2.0
//! The calls of this process, which looks up the names of services while it traces: they are in no
//! output.
use anybinder_events::event::{Event, What};
use std::collections::HashSet;
use std::path::Path;

pub struct Own {
    pid: i32,
    /// Transactions to or from this process whose buffer is in use.
    ids: HashSet<u32>,
}

impl Own {
    pub fn new() -> Self {
        Own {
            pid: std::process::id() as i32,
            ids: HashSet::new(),
        }
    }

    fn is_own_thread(&self, event: &Event) -> bool {
        match &event.thread {
            Some((pid, _)) if *pid != 0 => *pid == self.pid,
            _ => Path::new(&format!("/proc/self/task/{}", event.tid)).exists(),
        }
    }

    /// Does the event belong to a call of this process?
    pub fn made(&mut self, event: &Event) -> bool {
        if let Some(sent) = event.what.transaction() {
            let from_own = match sent.from_pid {
                0 => self.is_own_thread(event),
                pid => pid == self.pid,
            };
            let is_own = from_own || sent.to_pid == self.pid;
            if is_own {
                self.ids.insert(sent.id);
            }
            return is_own;
        }
        match (&event.what, event.what.id()) {
            (What::BufferFreed { .. } | What::BufferFailed { .. }, Some(id)) => {
                self.ids.remove(&id)
            }
            (_, Some(id)) => self.ids.contains(&id),
            (What::Opened { pid, .. }, _) => *pid == self.pid,
            (What::Return { .. }, _) => self.is_own_thread(event),
            (What::Lost { .. }, _) => {
                self.ids.clear();
                false
            }
            (_, None) => false,
        }
    }
}
