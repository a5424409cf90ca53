// SPDX-License-Identifier: Apache-2.0
//! One measurement: its size and length, and the program that makes it.
use crate::daemon::die_with_parent;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use std::fmt;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

/// How many bytes a call carries in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
        .map_err(|_| format!("{text} is not a size; write it like 0, 512, 64k, 1m, 64k/0"))?;
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

/// How long a cell lasts.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    Duration(Duration),
    /// Calls of each client.
    Calls(u64),
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
        right.then(|| Policy(text.to_string())).ok_or_else(|| {
            format!("{text} is not a policy; write other:-20 to other:19 or fifo:1 to fifo:99")
        })
    }
}

/// What bench-ipc measures.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What is measured instead of the subject's own peer: another peer of bench-ipc.
    pub kind: Option<&'static str>,
    /// How many operations are in each of its calls.
    pub parts: u32,
    pub pairs: u32,
    pub size: Size,
    pub length: Length,
    /// The pause of a client between two calls, not measured.
    pub delay_us: u64,
    /// Only the durations of so many clients count, and only they pause: the others are load. 0:
    /// all.
    pub measured: u32,
    /// Priorities of clients, `pairs` of each; empty: all are alike.
    pub classes: Vec<Policy>,
    /// Priority of the servers; None: that of this process.
    pub servers: Option<Policy>,
    /// Whether what disturbs the calls runs beside them.
    pub is_disturbed: bool,
}

impl Default for Cell {
    /// One pair without payload.
    fn default() -> Self {
        Cell {
            kind: None,
            parts: 1,
            pairs: 1,
            size: Size::default(),
            length: Length::Duration(Duration::from_millis(200)),
            delay_us: 0,
            measured: 0,
            classes: Vec::new(),
            servers: None,
            is_disturbed: false,
        }
    }
}

impl Cell {
    /// The arguments with which bench-ipc makes this measurement.
    ///
    /// * `kind`: the peer's name in the program
    /// * `address`: the device or bus, for a peer that needs one
    pub fn arguments(&self, kind: &str, address: Option<&str>) -> Vec<String> {
        let (length, value) = match self.length {
            Length::Duration(time) => ("--duration-ms", time.as_millis().to_string()),
            Length::Calls(count) => ("--calls", count.to_string()),
        };
        let classes = self
            .classes
            .iter()
            .map(|Policy(one)| ("--class", one.clone()));
        let servers = self
            .servers
            .iter()
            .map(|Policy(one)| ("--server-sched", one.clone()));
        let address = address.map(|one| ("--address", one.to_string()));
        let options = [
            ("--peer", self.kind.unwrap_or(kind).to_string()),
            ("--pairs", self.pairs.to_string()),
            ("--request", self.size.request_bytes.to_string()),
            ("--reply", self.size.reply_bytes.to_string()),
            ("--delay-us", self.delay_us.to_string()),
            ("--measured", self.measured.to_string()),
            (length, value),
        ];
        let all = options
            .into_iter()
            .chain(classes)
            .chain(servers)
            .chain(address);
        let words = all.flat_map(|(option, value)| [option.to_string(), value]);
        std::iter::once("call".to_string()).chain(words).collect()
    }
}

/// The figures in a line of bench-ipc.
pub fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).doing(|| "reading the figures of a measurement".to_string())
}

/// Runs a program to its end and returns its standard output. Fails, with its message, if it fails.
pub fn output_of(mut command: Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    die_with_parent(&mut command);
    let done = command.stdin(Stdio::null()).output();
    let done = done.doing(|| format!("running {name}"))?;
    interrupt::check()?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&done.stderr);
    Err(Error::new(match message.trim() {
        "" => format!("{name} failed without a message."),
        message => message.replace('\n', "; "),
    }))
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
    fn policies_are_checked() {
        for right in ["other:-20", "other:19", "fifo:1", "fifo:99"] {
            assert!(right.parse::<Policy>().is_ok(), "{right}");
        }
        for wrong in ["fifo", "fifo:0", "fifo:100", "other:20", "rr:5"] {
            assert!(wrong.parse::<Policy>().is_err(), "{wrong}");
        }
    }
}
