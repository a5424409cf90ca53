// SPDX-License-Identifier: Apache-2.0
//! What threads and objects are called. A thread is looked up when it is first seen, because it
//! may be gone when its call is printed.
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    pub pid: i32,
    pub tid: i32,
    /// The names of the process and of the thread; empty if they are not known.
    pub process: String,
    pub thread: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    pub name: String,
    pub interface: String,
}

impl Thread {
    /// Of its names.
    pub fn bytes(&self) -> usize {
        self.process.len() + self.thread.len()
    }
}

impl Service {
    /// Of its names.
    pub fn bytes(&self) -> usize {
        self.name.len() + self.interface.len()
    }
}

#[derive(Default)]
pub struct Names {
    threads: HashMap<i32, Thread>,
    services: HashMap<u32, Service>,
    /// The names of processes when they opened a device.
    opened: HashMap<i32, String>,
    /// Threads that were looked up since `take_new` was last called.
    new: Vec<Thread>,
    /// No look-ups: the names come from a recording.
    recorded: bool,
    /// Of all names.
    bytes: usize,
}

/// Threads that are kept; beyond, all are looked up anew.
pub(crate) const THREADS_MAX: usize = 100_000;
/// Bytes of names that are kept, with some for each: a recording may have any number.
const BYTES_MAX: usize = 32 << 20;
const BYTES_EACH: usize = 200;

/// The name in a `comm` of /proc; empty if the process has ended.
pub(crate) fn comm(path: &str) -> String {
    let name = std::fs::read_to_string(path).unwrap_or_default();
    name.trim_end().to_string()
}

fn pid_of(tid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

/// The number of a thread's process (0: not known) and its name; None if it has ended.
pub(crate) fn told_now(tid: i32) -> Option<(i32, String)> {
    let name = comm(&format!("/proc/{tid}/comm"));
    (!name.is_empty()).then(|| (pid_of(tid).unwrap_or(0), name))
}

impl Names {
    pub fn recorded() -> Self {
        Names {
            recorded: true,
            ..Names::default()
        }
    }

    pub fn add_thread(&mut self, thread: Thread) {
        if self.threads.len() >= THREADS_MAX {
            self.threads.clear();
        }
        self.make_room(thread.bytes());
        if !self.recorded {
            self.new.push(thread.clone());
        }
        self.threads.insert(thread.tid, thread);
    }

    /// A process of this name opens a device: an earlier one of its number has ended.
    pub fn opened(&mut self, pid: i32, name: &str) {
        if self.opened.len() >= THREADS_MAX {
            self.opened.clear();
        }
        if self
            .opened
            .insert(pid, name.to_string())
            .is_none_or(|before| before != name)
        {
            self.threads.remove(&pid);
        }
    }

    fn make_room(&mut self, bytes: usize) {
        self.bytes += bytes + BYTES_EACH;
        if self.bytes > BYTES_MAX {
            self.threads.clear();
            self.services.clear();
            self.bytes = bytes + BYTES_EACH;
        }
    }

    pub fn add_service(&mut self, node: u32, service: Service) {
        self.make_room(service.bytes());
        self.services.insert(node, service);
    }

    pub fn service(&self, node: u32) -> Option<&Service> {
        self.services.get(&node)
    }

    pub fn services(&self) -> impl Iterator<Item = (&u32, &Service)> {
        self.services.iter()
    }

    /// A thread, of process `pid` if that is not 0. `said`: what an event said of it.
    pub fn thread(&mut self, tid: i32, pid: i32, said: Option<&(i32, String)>) -> Thread {
        if let Some(known) = self.threads.get(&tid) {
            if pid == 0 || known.pid == pid || self.recorded {
                return known.clone();
            }
        }
        if self.recorded {
            return Thread {
                pid,
                tid,
                ..Thread::default()
            };
        }
        let said_pid = said.map_or(0, |said| said.0);
        let found = [pid, said_pid].into_iter().find(|pid| *pid != 0);
        let pid = found.or_else(|| pid_of(tid)).unwrap_or(0);
        let mut thread = Thread {
            pid,
            tid,
            process: comm(&format!("/proc/{pid}/comm")),
            thread: comm(&format!("/proc/{pid}/task/{tid}/comm")),
        };
        if let (true, Some((_, name))) = (thread.thread.is_empty(), said) {
            thread.thread = name.clone();
        }
        if thread.process.is_empty() {
            thread.process = match self.opened.get(&pid) {
                Some(name) => name.clone(),
                None if tid == pid => thread.thread.clone(),
                None => String::new(),
            };
        }
        if thread.thread.is_empty() && tid == pid {
            thread.thread = thread.process.clone();
        }
        self.add_thread(thread.clone());
        thread
    }

    /// A thread whose names are known.
    pub fn known(&self, tid: i32) -> Option<&Thread> {
        self.threads.get(&tid)
    }

    /// A process, by its first thread.
    pub fn process(&mut self, pid: i32) -> Thread {
        self.thread(pid, pid, None)
    }

    /// The threads that are new since the last call.
    pub fn take_new(&mut self) -> Vec<Thread> {
        std::mem::take(&mut self.new)
    }
}
