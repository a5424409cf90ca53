// SPDX-License-Identifier: Apache-2.0
//! Many idle clients of a daemon, and what they cost it.
use crate::daemon::{die_with_parent, family, find_measurer, threads_of};
use anybinder_mount::error::{Doing, Error, Result};
use serde::Serialize;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Clients (processes with one open each), and what each of them has.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub clients: u32,
    /// That wait.
    pub threads: u32,
    /// Of all together, to which another process has handles; or names of D-Bus. 0: each client
    /// looks up one object of another process.
    pub objects: u32,
    /// To objects of another process, which has them for this; or match rules of D-Bus.
    pub references: u32,
    /// That were received and not freed.
    pub buffers: u32,
}

impl Default for Load {
    /// One client with one thread.
    fn default() -> Self {
        Load {
            clients: 1,
            threads: 1,
            objects: 0,
            references: 0,
            buffers: 0,
        }
    }
}

/// Processes that have a device open and wait; they end when this is dropped.
pub struct IdleClients(Child);

impl IdleClients {
    /// Starts them and waits until all are connected.
    ///
    /// * `peer`, `program`: of a measuring program, and that
    pub fn start(peer: &str, program: &str, address: &str, load: Load) -> Result<Self> {
        let mut command = Command::new(find_measurer(program)?);
        command.args(["call", "--peer", peer, "--address", address]);
        for (option, value) in [
            ("--pairs", load.clients),
            ("--threads", load.threads),
            ("--objects", load.objects),
            ("--references", load.references),
            ("--buffers", load.buffers),
        ] {
            command.args([option, &value.to_string()]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
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
    pub fn own_kib(&self) -> u64 {
        self.pss_kib - self.pss_shmem_kib
    }

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
