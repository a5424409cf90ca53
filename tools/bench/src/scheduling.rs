// SPDX-License-Identifier: Apache-2.0
//! On which CPUs and with which policy and priority the processes of a measurement run.
use anybinder_mount::error::{Error, Result};
use rustix::thread::CpuSet;
use std::ops::RangeInclusive;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::str::FromStr;

/// A list of CPUs, written as by the kernel and taskset: 0,2-3.
#[derive(Clone, Debug)]
pub struct CpuList(String);

/// One item of a list: a CPU or a range of CPUs; None if it is neither.
fn parse_range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = first.parse().ok()?..=last.parse().ok()?;
    (!range.is_empty()).then_some(range)
}

impl CpuList {
    /// The CPUs of the list.
    pub fn cpus(&self) -> Vec<usize> {
        self.0
            .split(',')
            .filter_map(parse_range)
            .flatten()
            .map(usize::from)
            .collect()
    }

    fn set(&self) -> CpuSet {
        let mut set = CpuSet::new();
        for cpu in self.cpus() {
            if cpu < CpuSet::MAX_CPU {
                set.set(cpu);
            }
        }
        set
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if !text.split(',').all(|range| parse_range(range).is_some()) {
            return Err(format!("{text} is not a list of CPUs; write it like 0,2-3"));
        }
        Ok(CpuList(text.to_string()))
    }
}

/// A scheduling policy and its priority: other:NICE or fifo:PRIORITY.
#[derive(Clone, Debug)]
pub struct Policy(String);

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let right = match text.split_once(':') {
            Some(("other", nice)) => nice.parse().is_ok_and(|n: i32| (-20..=19).contains(&n)),
            Some(("fifo", priority)) => priority.parse().is_ok_and(|n: i32| (1..=99).contains(&n)),
            _ => false,
        };
        if right {
            Ok(Policy(text.to_string()))
        } else {
            Err(format!(
                "{text} is not a policy; write other:-20 to other:19 or fifo:1 to fifo:99"
            ))
        }
    }
}

impl Policy {
    /// As on the command line.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The kernel's constant, and the nice value or real-time priority.
    fn numbers(&self) -> (libc::c_int, libc::c_int) {
        let (policy, number) = self.0.split_once(':').unwrap_or(("other", "0"));
        let policy = match policy {
            "fifo" => libc::SCHED_FIFO,
            _ => libc::SCHED_OTHER,
        };
        (policy, number.parse().unwrap_or(0))
    }
}

/// Makes a program start on these CPUs, with this policy; None: as this process.
fn schedule(command: &mut Command, cpus: Option<&CpuList>, policy: Option<&Policy>) {
    let cpus = cpus.map(CpuList::set);
    let policy = policy.map(Policy::numbers);
    let apply = move || {
        if let Some(set) = &cpus {
            rustix::thread::sched_setaffinity(None, set)?;
        }
        let done = match policy {
            None => 0,
            // SAFETY: it changes only this process.
            Some((libc::SCHED_OTHER, nice)) => unsafe {
                libc::setpriority(libc::PRIO_PROCESS, 0, nice)
            },
            Some((policy, sched_priority)) => {
                let param = libc::sched_param { sched_priority };
                // SAFETY: it reads a structure that outlives the call.
                unsafe { libc::sched_setscheduler(0, policy, &param) }
            }
        };
        match done {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: system calls only, of those allowed between fork and exec.
    unsafe { command.pre_exec(apply) };
}

/// Command-line options: how the ends of every cell are scheduled.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SchedulingOptions {
    /// CPUs of all processes, daemons too, e.g. 1 or 0,2-3
    #[arg(long, value_name = "LIST")]
    pub cpu: Option<CpuList>,

    /// CPUs of the clients
    #[arg(long, value_name = "LIST")]
    pub client_cpu: Option<CpuList>,

    /// CPUs of the servers
    #[arg(long, value_name = "LIST")]
    pub server_cpu: Option<CpuList>,

    /// Scheduling of the clients: other:NICE or fifo:PRIORITY
    #[arg(long, value_name = "POLICY:N", allow_hyphen_values = true)]
    pub client_sched: Option<Policy>,

    /// Scheduling of the servers, likewise
    #[arg(long, value_name = "POLICY:N", allow_hyphen_values = true)]
    pub server_sched: Option<Policy>,
}

impl SchedulingOptions {
    /// Moves this process, and so all that it starts, to the CPUs of `--cpu`. Fails if none of them
    /// is there.
    pub fn apply(&self) -> Result<()> {
        let Some(list) = &self.cpu else {
            return Ok(());
        };
        rustix::thread::sched_setaffinity(None, &list.set()).map_err(|_| {
            Error::with_advice(
                format!("No process can run on CPU {}.", list.0),
                "`taskset -p $$` shows the CPUs that can be used.",
            )
        })
    }

    /// Makes a program start scheduled as the clients.
    pub fn apply_to_client(&self, command: &mut Command) {
        schedule(
            command,
            self.client_cpu.as_ref(),
            self.client_sched.as_ref(),
        );
    }

    /// Makes a program start scheduled as the servers.
    pub fn apply_to_server(&self, command: &mut Command) {
        schedule(
            command,
            self.server_cpu.as_ref(),
            self.server_sched.as_ref(),
        );
    }

    /// The same as arguments of bench-ipc.
    pub fn arguments(&self) -> Vec<String> {
        let options = [
            ("--client-cpu", self.client_cpu.as_ref().map(|list| &list.0)),
            ("--server-cpu", self.server_cpu.as_ref().map(|list| &list.0)),
            (
                "--client-sched",
                self.client_sched.as_ref().map(|policy| &policy.0),
            ),
            (
                "--server-sched",
                self.server_sched.as_ref().map(|policy| &policy.0),
            ),
        ];
        let given = options
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_string(), value?.clone()]));
        given.flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_checked() {
        assert_eq!("0,2-3".parse::<CpuList>().unwrap().cpus(), [0, 2, 3]);
        for wrong in ["", "a", "3-1", "1,", "-1"] {
            assert!(wrong.parse::<CpuList>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn policies_are_checked() {
        for right in ["other:-20", "other:19", "fifo:1", "fifo:99"] {
            assert!(right.parse::<Policy>().is_ok(), "{right}");
        }
        for wrong in ["fifo", "fifo:0", "fifo:100", "other:20", "rr:5"] {
            assert!(wrong.parse::<Policy>().is_err(), "{wrong}");
        }
    }
}
