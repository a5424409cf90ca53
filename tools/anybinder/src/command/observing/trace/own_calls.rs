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
        match &event.what {
            What::Sent(sent)
            | What::Begun {
                transaction: sent, ..
            }
            | What::Failed {
                transaction: sent, ..
            } => {
                let from_own = match sent.from_pid {
                    0 => self.is_own_thread(event),
                    pid => pid == self.pid,
                };
                let is_own = from_own || sent.to_pid == self.pid;
                if is_own {
                    self.ids.insert(sent.id);
                }
                is_own
            }
            What::BufferFreed { id } | What::BufferFailed { id } => self.ids.remove(id),
            What::Received { id }
            | What::Buffer { id, .. }
            | What::BufferOutdated { id }
            | What::Object { id, .. }
            | What::Target { id, .. }
            | What::Data { id, .. }
            | What::File { id }
            | What::Priorities { id, .. }
            | What::Stage { id, .. } => self.ids.contains(id),
            What::Opened { pid, .. } => *pid == self.pid,
            What::Return { .. } => self.is_own_thread(event),
            What::Lost { .. } => {
                self.ids.clear();
                false
            }
        }
    }
}
