// SPDX-License-Identifier: Apache-2.0
//! One measurement: its size, where its processes run, and the program that makes it.
use crate::daemon::die_with_parent;
use crate::figures::Figures;
use anybinder_mount::interrupt;
use anybinder_mount::trouble::{Doing, Result, Trouble};
use rustix::thread::CpuSet;
use std::fmt;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

/// How many bytes a call carries each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Size {
    pub request_bytes: u64,
    pub reply_bytes: u64,
}

fn parse_bytes(text: &str) -> std::result::Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, factor) = match lower.strip_suffix(['k', 'm']) {
        Some(digits) if lower.ends_with('k') => (digits, 1 << 10),
        Some(digits) => (digits, 1 << 20),
        None => (lower.as_str(), 1),
    };
    let count: u64 = digits
        .parse()
        .map_err(|_| format!("{text} is no size; sizes are like 0, 512, 64k, 1m, 64k/0"))?;
    match count.checked_mul(factor) {
        Some(bytes) if bytes <= 1 << 20 => Ok(bytes),
        _ => Err(format!("{text} is more than a call can carry (1m)")),
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (request, reply) = text.split_once('/').unwrap_or((text, text));
        Ok(Size {
            request_bytes: parse_bytes(request)?,
            reply_bytes: parse_bytes(reply)?,
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |bytes: u64| match bytes {
            mib if mib >= 1 << 20 && mib % (1 << 20) == 0 => format!("{} MiB", mib >> 20),
            kib if kib >= 1 << 10 && kib % (1 << 10) == 0 => format!("{} KiB", kib >> 10),
            _ => format!("{bytes} B"),
        };
        let (request, reply) = (one(self.request_bytes), one(self.reply_bytes));
        if request == reply {
            f.write_str(&request)
        } else {
            write!(f, "{request} / {reply}")
        }
    }
}

/// Where processes run: CPUs as 0,2-3, as the kernel and taskset write them.
#[derive(Clone, Debug)]
pub struct CpuList(String);

impl CpuList {
    /// The CPUs of the list.
    pub fn cpus(&self) -> Vec<usize> {
        let numbers = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            first.parse().unwrap_or(1)..=last.parse().unwrap_or(0)
        };
        self.0.split(',').flat_map(numbers).collect()
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
        let is_part = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            matches!((first.parse::<u16>(), last.parse::<u16>()), (Ok(a), Ok(b)) if a <= b)
        };
        if !text.split(',').all(is_part) {
            return Err(format!("{text} is no list of CPUs; lists are like 0,2-3"));
        }
        Ok(CpuList(text.to_string()))
    }
}

/// How urgent processes are: other:NICE or fifo:PRIORITY.
#[derive(Clone, Debug)]
pub struct Sched(String);

impl FromStr for Sched {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let right = match text.split_once(':') {
            Some(("other", nice)) => nice.parse().is_ok_and(|n: i32| (-20..=19).contains(&n)),
            Some(("fifo", priority)) => priority.parse().is_ok_and(|n: i32| (1..=99).contains(&n)),
            _ => false,
        };
        if right {
            Ok(Sched(text.to_string()))
        } else {
            Err(format!(
                "{text} is neither other:-20 to other:19 nor fifo:1 to fifo:99"
            ))
        }
    }
}

impl Sched {
    pub fn name(&self) -> &str {
        &self.0
    }

    fn policy(&self) -> (libc::c_int, libc::c_int) {
        let (policy, number) = self.0.split_once(':').unwrap_or(("other", "0"));
        let policy = match policy {
            "fifo" => libc::SCHED_FIFO,
            _ => libc::SCHED_OTHER,
        };
        (policy, number.parse().unwrap_or(0))
    }
}

/// Lets a program start on these CPUs, that urgent.
fn seat(command: &mut Command, cpus: Option<&CpuList>, sched: Option<&Sched>) {
    let cpus = cpus.map(CpuList::set);
    let sched = sched.map(Sched::policy);
    let take = move || {
        if let Some(set) = &cpus {
            rustix::thread::sched_setaffinity(None, set)?;
        }
        let done = match sched {
            None => 0,
            // SAFETY: it changes this process alone.
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
    unsafe { command.pre_exec(take) };
}

/// How the ends of every cell run, on the command line.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SeatOptions {
    /// CPUs of everything, daemons too, e.g. 1 or 0,2-3
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
    pub client_sched: Option<Sched>,

    /// Scheduling of the servers, likewise
    #[arg(long, value_name = "POLICY:N", allow_hyphen_values = true)]
    pub server_sched: Option<Sched>,
}

impl SeatOptions {
    /// Moves this process, and so everything it starts, to the CPUs of everything.
    pub fn take(&self) -> Result<()> {
        let Some(list) = &self.cpu else {
            return Ok(());
        };
        rustix::thread::sched_setaffinity(None, &list.set()).map_err(|_| {
            Trouble::with_advice(
                format!("Nothing can run on CPU {}.", list.0),
                "See which there are with `taskset -p $$`.",
            )
        })
    }

    /// Lets a program start where the clients run.
    pub fn seat_client(&self, command: &mut Command) {
        seat(
            command,
            self.client_cpu.as_ref(),
            self.client_sched.as_ref(),
        );
    }

    /// Lets a program start where the servers run.
    pub fn seat_server(&self, command: &mut Command) {
        seat(
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
                self.client_sched.as_ref().map(|sched| &sched.0),
            ),
            (
                "--server-sched",
                self.server_sched.as_ref().map(|sched| &sched.0),
            ),
        ];
        let given = options
            .into_iter()
            .filter_map(|(name, value)| Some([name.to_string(), value?.clone()]));
        given.flatten().collect()
    }
}

/// How long a cell lasts.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    Duration(Duration),
    /// Calls of each client.
    Calls(u64),
}

/// All that bench-ipc has to know.
#[derive(Clone, Debug)]
pub struct Cell {
    pub pairs: u32,
    pub size: Size,
    pub length: Length,
    pub delay_us: u64,
}

/// Measures once. `kind` is the peer's name in the program.
pub fn measure(
    program: &Path,
    kind: &str,
    address: Option<&str>,
    cell: &Cell,
    seats: &SeatOptions,
) -> Result<Figures> {
    let mut command = Command::new(program);
    command
        .args(["call", "--histogram", "--peer", kind])
        .args(["--pairs", &cell.pairs.to_string()])
        .args(["--request", &cell.size.request_bytes.to_string()])
        .args(["--reply", &cell.size.reply_bytes.to_string()])
        .args(["--delay-us", &cell.delay_us.to_string()])
        .args(seats.arguments());
    match cell.length {
        Length::Duration(time) => command.args(["--duration-ms", &time.as_millis().to_string()]),
        Length::Calls(count) => command.args(["--calls", &count.to_string()]),
    };
    if let Some(address) = address {
        command.args(["--address", address]);
    }
    let text = output_of(command)?;
    serde_json::from_str(&text).doing(|| format!("reading what {} said", program.display()))
}

/// Runs a program to its end and takes its standard output; an interrupt ends it.
pub fn output_of(mut command: Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    die_with_parent(&mut command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .doing(|| format!("starting {name}"))?;
    let mut text = String::new();
    let read = child
        .stdout
        .take()
        .expect("piped above")
        .read_to_string(&mut text);
    let status = child.wait().doing(|| format!("waiting for {name}"))?;
    interrupt::check()?;
    read.doing(|| format!("reading what {name} said"))?;
    if !status.success() {
        return Err(Trouble::new(last_words(&mut child, &name)));
    }
    Ok(text)
}

fn last_words(child: &mut Child, name: &str) -> String {
    let mut words = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut words);
    }
    match words.trim() {
        "" => format!("{name} failed and said nothing"),
        words => words.replace('\n', "; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_they_print() {
        for (text, shown) in [
            ("0", "0 B"),
            ("4k", "4 KiB"),
            ("1m", "1 MiB"),
            ("64k/0", "64 KiB / 0 B"),
            ("1500", "1500 B"),
        ] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), shown);
        }
        for wrong in ["", "k", "-1", "2m", "64k/", "99999999999999999999m"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn lists_of_cpus_are_checked() {
        assert_eq!("0,2-3".parse::<CpuList>().unwrap().cpus(), [0, 2, 3]);
        for wrong in ["", "a", "3-1", "1,", "-1"] {
            assert!(wrong.parse::<CpuList>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn schedules_are_checked() {
        for right in ["other:-20", "other:19", "fifo:1", "fifo:99"] {
            assert!(right.parse::<Sched>().is_ok(), "{right}");
        }
        for wrong in ["fifo", "fifo:0", "fifo:100", "other:20", "rr:5"] {
            assert!(wrong.parse::<Sched>().is_err(), "{wrong}");
        }
    }
}
