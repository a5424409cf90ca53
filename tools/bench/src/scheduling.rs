// SPDX-License-Identifier: Apache-2.0
//! On which CPUs and with which policy and priority the processes of a measurement run.
use anybinder_mount::error::{Doing, Error, Result};
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::process::Command;
use std::str::FromStr;

/// A list of CPUs, written as by the kernel and taskset: 0,2-3.
#[derive(Clone, Debug)]
pub struct CpuList(pub Vec<usize>);

/// One item of a list: a CPU or a range of CPUs; None if it is neither.
fn parse_range(text: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = first.parse().ok()?..=last.parse().ok()?;
    (!range.is_empty() && *range.end() < CpuSet::MAX_CPU).then_some(range)
}

impl CpuList {
    /// The CPUs that this thread may use.
    pub fn usable() -> Result<Self> {
        let set = sched_getaffinity(None).doing(|| "asking for the usable CPUs".to_string())?;
        let all = 0..CpuSet::MAX_CPU;
        Ok(CpuList(all.filter(|cpu| set.is_set(*cpu)).collect()))
    }

    /// The last of them, which the kernel uses least.
    pub fn last(&self) -> Self {
        CpuList(self.0.last().copied().into_iter().collect())
    }

    /// Moves this thread, and so all that it starts, to these CPUs. Fails if none of them is there.
    pub fn apply(&self) -> Result<()> {
        sched_setaffinity(None, &self.set()).map_err(|_| {
            Error::with_advice(
                format!("No process can run on CPU {self}."),
                "`taskset -p $$` shows the CPUs that can be used.",
            )
        })
    }

    fn set(&self) -> CpuSet {
        let mut set = CpuSet::new();
        self.0.iter().for_each(|cpu| set.set(*cpu));
        set
    }
}

/// Without ranges, which bench-ipc does not know.
impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let ranges: Option<Vec<_>> = text.split(',').map(parse_range).collect();
        let ranges =
            ranges.ok_or_else(|| format!("{text} is not a list of CPUs; write it like 0,2-3"))?;
        Ok(CpuList(ranges.into_iter().flatten().collect()))
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
}

/// Makes a program run on these CPUs, with this policy; None: as this process.
fn scheduled(command: &Command, cpus: Option<&CpuList>, policy: Option<&Policy>) -> Command {
    let mut words = vec!["env".to_string()];
    if let Some(cpus) = cpus {
        words.extend(["taskset".to_string(), "-c".to_string(), cpus.to_string()]);
    }
    if let Some((kind, number)) = policy.and_then(|policy| policy.0.split_once(':')) {
        let program: &[&str] = if kind == "fifo" {
            &["chrt", "-f"]
        } else {
            &["nice", "-n"]
        };
        words.extend(program.iter().map(ToString::to_string));
        words.push(number.to_string());
    }
    let mut wrapped = Command::new(&words[0]);
    wrapped
        .args(&words[1..])
        .arg(command.get_program())
        .args(command.get_args());
    wrapped.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    wrapped
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
        self.cpu.as_ref().map_or(Ok(()), CpuList::apply)
    }

    /// A program that runs as the clients.
    pub fn as_client(&self, command: &Command) -> Command {
        scheduled(
            command,
            self.client_cpu.as_ref(),
            self.client_sched.as_ref(),
        )
    }

    /// A program that runs as the servers.
    pub fn as_server(&self, command: &Command) -> Command {
        scheduled(
            command,
            self.server_cpu.as_ref(),
            self.server_sched.as_ref(),
        )
    }

    /// The same as arguments of bench-ipc.
    pub fn arguments(&self) -> Vec<String> {
        let cpus = |list: &Option<CpuList>| list.as_ref().map(CpuList::to_string);
        let policy = |policy: &Option<Policy>| policy.as_ref().map(|policy| policy.0.clone());
        let options = [
            ("--client-cpu", cpus(&self.client_cpu)),
            ("--server-cpu", cpus(&self.server_cpu)),
            ("--client-sched", policy(&self.client_sched)),
            ("--server-sched", policy(&self.server_sched)),
        ];
        let given = options
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_string(), value?]));
        given.flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_checked() {
        assert_eq!("0,2-3".parse::<CpuList>().unwrap().to_string(), "0,2,3");
        for wrong in ["", "a", "3-1", "1,", "-1", "1024"] {
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
