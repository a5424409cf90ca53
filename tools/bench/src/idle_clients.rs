// SPDX-License-Identifier: Apache-2.0
//! Many idle clients of a daemon, and what they cost it.
use crate::daemon::{die_with_parent, family, find_measurer, threads_of, PLAIN};
use anybinder_mount::error::{Doing, Error, Result};
use serde::Serialize;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Clients (processes with one open each), waiting threads of each, and objects of all together to
/// which another process has handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub clients: u32,
    pub threads: u32,
    /// 0: each client looks up one object of another process.
    pub objects: u32,
}

/// Processes that have a device open and wait; they end when this is dropped.
pub struct IdleClients(Child);

impl IdleClients {
    /// Starts them and waits until all are connected.
    pub fn start(device: &str, load: Load) -> Result<Self> {
        let mut command = Command::new(find_measurer(PLAIN)?);
        command
            .args(["call", "--peer", "idle", "--address", device])
            .args(["--pairs", &load.clients.to_string()])
            .args(["--threads", &load.threads.to_string()])
            .args(["--objects", &load.objects.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        die_with_parent(&mut command);
        let child = command
            .spawn()
            .doing(|| "starting idle clients".to_string())?;
        let mut started = IdleClients(child);
        let mut line = String::new();
        if let Some(stdout) = started.0.stdout.take() {
            let read = BufReader::new(stdout).read_line(&mut line);
            read.doing(|| "starting idle clients".to_string())?;
        }
        match line.as_str() {
            "ready\n" => Ok(started),
            _ => Err(Error::new("The idle clients did not start.")),
        }
    }
}

impl Drop for IdleClients {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What a process and its descendants use.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Memory {
    /// A page that n processes map counts as 1/n of a page in each.
    pub pss_kib: u64,
    /// Of that, memory that is shared by design, such as buffers.
    pub pss_shmem_kib: u64,
    pub threads: u64,
}

impl Memory {
    /// Of a process and its descendants; what ends meanwhile counts as nothing.
    pub fn of(pid: u32) -> Memory {
        let mut all = Memory::default();
        for pid in family(pid) {
            let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
            let text = text.unwrap_or_default();
            let kib = |key: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(key));
                let word = line.and_then(|line| line.split_whitespace().next());
                word.and_then(|word| word.parse().ok()).unwrap_or(0)
            };
            all.pss_kib += kib("Pss:");
            all.pss_shmem_kib += kib("Pss_Shmem:");
            all.threads += threads_of(pid).count() as u64;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something() {
        let mine = Memory::of(std::process::id());
        assert!(mine.pss_kib > 0 && mine.threads > 0, "{mine:?}");
    }
}
