// SPDX-License-Identifier: Apache-2.0
//! Which calls are shown.
use anybinder_cli::time_limit::{seconds, span};
use anybinder_events::calls::Call;
use anybinder_events::thread_names::Thread;
use std::time::Duration;

#[derive(Debug, Default, PartialEq, clap::Args)]
pub struct Filter {
    /// Only calls from or to a process: its number, or a part of its name
    #[arg(long, value_name = "PID|NAME")]
    process: Option<String>,

    /// Only calls to services with this in their name
    #[arg(long, value_name = "NAME")]
    service: Option<String>,

    /// Only calls to objects with this in the name of their interface
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,

    /// Only calls with this code: a number, 0x..., or four characters as _PNG
    #[arg(long, value_parser = parse_code)]
    code: Option<u32>,

    /// Only calls of methods with this name, as it is shown
    #[arg(long, value_name = "NAME")]
    method: Option<String>,

    /// Only calls that failed
    #[arg(long)]
    errors: bool,

    /// Only calls that are served less urgently than their caller runs
    #[arg(long)]
    not_inherited: bool,

    /// Only calls that took longer, as 500us, 3ms or 1s
    #[arg(long, value_name = "TIME", value_parser = span)]
    slower_than: Option<Duration>,

    /// Only calls that were sent so long after the first one of the recording, or later
    #[arg(long, value_name = "SECONDS", requires = "from", value_parser = seconds)]
    since: Option<Duration>,

    /// Only calls that were sent at most so long after the first one of the recording
    #[arg(long, value_name = "SECONDS", requires = "from", value_parser = seconds)]
    until: Option<Duration>,
}

fn parse_code(text: &str) -> Result<u32, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    if let Ok(number) = number {
        return Ok(number);
    }
    match <[u8; 4]>::try_from(text.as_bytes()) {
        Ok(name) => Ok(u32::from_be_bytes(name)),
        Err(_) => Err("not a number, nor four characters".to_string()),
    }
}

fn is_process(thread: &Thread, wanted: &str) -> bool {
    match wanted.parse::<i32>() {
        Ok(pid) => thread.pid == pid,
        Err(_) => thread.process.contains(wanted) || thread.thread.contains(wanted),
    }
}

fn has(name: &Option<String>, wanted: &str) -> bool {
    name.as_ref().is_some_and(|name| name.contains(wanted))
}

impl Filter {
    /// What the names of services have to have in them.
    pub fn service(&self) -> Option<&str> {
        self.service.as_deref()
    }

    /// Whether every call is wanted.
    pub fn is_empty(&self) -> bool {
        *self == Filter::default()
    }

    /// Whether a time is in the wanted part of a recording, whose first call is of `start_ns`.
    pub fn is_at(&self, time_ns: u64, start_ns: u64) -> bool {
        let after = Duration::from_nanos(time_ns.saturating_sub(start_ns));
        self.since.is_none_or(|since| after >= since)
            && self.until.is_none_or(|until| after <= until)
    }

    /// * `start_ns`: when the first call of all was sent
    /// * `method`: tells the name of the method
    pub fn wants(
        &self,
        call: &Call,
        start_ns: u64,
        method: impl FnOnce() -> Option<String>,
    ) -> bool {
        let process = self.process.as_deref();
        let service = self.service.as_deref();
        let interface = self.interface.as_deref();
        let least = self.slower_than.map(|time| time.as_nanos() as u64);
        process.is_none_or(|wanted| is_process(&call.from, wanted) || is_process(&call.to, wanted))
            && service.is_none_or(|wanted| has(&call.service, wanted))
            && interface.is_none_or(|wanted| has(&call.interface, wanted))
            && self.code.is_none_or(|code| call.code == code)
            && (!self.errors || call.error.is_some())
            && (!self.not_inherited || call.not_inherited)
            && least.is_none_or(|least| call.duration_ns().is_some_and(|time| time > least))
            && self.is_at(call.sent_ns, start_ns)
            && (self.method.is_none() || self.method == method())
    }
}
