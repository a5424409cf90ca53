// SPDX-License-Identifier: Apache-2.0
//! `anybinder replay RECORDING`: makes the recorded calls again, and compares the replies.
mod difference;

use crate::command::services::interface_files;
use anybinder_cli::error::{Error, Result};
use anybinder_cli::output::{note, say, say_lines};
use anybinder_client::device::{self, DeviceOption};
use anybinder_client::raw_manager::RawManager;
use anybinder_driver::abi::{
    OBJECT_SIZE, TF_STATUS_CODE, TYPE_BINDER, TYPE_FD, TYPE_HANDLE, TYPE_WEAK_BINDER,
    TYPE_WEAK_HANDLE,
};
use anybinder_driver::parcel::{word, Parcel};
use anybinder_driver::raw_call::Outcome;
use anybinder_events::calls::Call;
use anybinder_events::payload::Payload;
use anybinder_events::recording::{self, Recorded};
use anybinder_events::thread_names::Names;
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::{Library, Roots};
use anybinder_parcel::header;
use anybinder_parcel::interface_methods::Interface;
use anybinder_servicemanager::DESCRIPTOR;
use difference::{answer, compare, error, Difference};
use rsbinder::{StatusCode, FIRST_CALL_TRANSACTION, LAST_CALL_TRANSACTION};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const HELP: &str = "\
The recording is one of `anybinder trace --payload --record FILE`. Calls that a service made to
serve others are left out: the service makes them again. Files are /dev/null; objects are services
that have the names of the recorded ones; calls with other objects, and those of which the driver
did not tell the whole data, are left out and counted.";

/// What is said of calls that are made.
const NOT_COMPARED: &str = "whose reply the driver did not tell wholly";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    recording: PathBuf,

    /// Send the calls to services with the interface of this one there [default: to the services of
    /// their names]
    #[arg(long, value_name = "NAME")]
    to: Option<String>,

    #[command(flatten)]
    aidl: Roots,

    /// Do not compare what has this name: an argument, a field, or `result`
    #[arg(long, value_name = "FIELD")]
    ignore: Vec<String>,

    /// Make each call when the one before is answered, not at its time
    #[arg(long)]
    fast: bool,

    /// How long a reply may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    patience: u32,

    #[command(flatten)]
    device: DeviceOption,
}

#[derive(Serialize)]
struct Differing {
    /// Which of the calls that were made.
    number: usize,
    service: String,
    method: String,
    differences: Vec<Difference>,
}

#[derive(Default, Serialize)]
struct Report {
    calls: usize,
    skipped: BTreeMap<&'static str, usize>,
    different: Vec<Differing>,
}

/// The calls of clients, in the order in which they were made.
fn read(path: &std::path::Path) -> Result<Recorded> {
    let mut recorded = Recorded::read(path)?;
    let calls = &mut recorded.calls;
    let methods = FIRST_CALL_TRANSACTION..=LAST_CALL_TRANSACTION;
    calls.retain(|call| call.parent.is_none() && methods.contains(&call.code));
    for call in calls.iter_mut() {
        if let Some((name, _)) = header::find(&call.request_data.bytes) {
            call.interface = Some(name);
        }
    }
    calls.retain(|call| call.interface.as_deref() != Some(DESCRIPTOR));
    calls.sort_by_key(|call| call.sent_ns);
    Ok(recorded)
}

struct Replay<'a> {
    arguments: &'a Arguments,
    manager: RawManager,
    names: Names,
    library: Option<Library>,
    /// The interface of the service that calls are sent to.
    interface: Option<String>,
    null: File,
}

impl Replay<'_> {
    /// The service that a call is made to; None if it is to be left out.
    fn service(&self, call: &Call) -> Option<String> {
        match (&self.arguments.to, &self.interface) {
            (Some(name), wanted) => (call.interface == *wanted).then(|| name.clone()),
            (None, _) => call.service.clone(),
        }
    }

    /// The recorded data, with files and objects of now; else why it cannot be made.
    fn request(&mut self, payload: &Payload) -> std::result::Result<Parcel, &'static str> {
        if payload.bytes.is_empty() || payload.missing() > 0 {
            return Err("without all of their data");
        }
        let mut parcel = Parcel {
            data: payload.bytes.clone(),
            ..Parcel::default()
        };
        for at in &payload.objects {
            let at = *at as usize;
            let kind = word(&parcel.data, at).ok_or("malformed")?;
            if parcel.data.len() < at + OBJECT_SIZE {
                return Err("malformed");
            }
            let value = |at| u64::from(word(&payload.bytes, at).unwrap_or(0));
            let unnamed = "with objects that have no name";
            match kind {
                TYPE_FD => parcel.put_file(at, &self.null),
                TYPE_HANDLE | TYPE_WEAK_HANDLE | TYPE_BINDER | TYPE_WEAK_BINDER => {
                    let number = match kind {
                        TYPE_HANDLE | TYPE_WEAK_HANDLE => value(at + 8),
                        _ => value(at + 8) | value(at + 12) << 32,
                    };
                    let node = payload.node(number).ok_or(unnamed)?;
                    let service = self.names.service(node);
                    let name = &service.ok_or(unnamed)?.name;
                    let found = self.manager.find(name);
                    let handle = found.map_err(|_| "with objects that are not there")?;
                    parcel.put_object(at, TYPE_HANDLE, 0, handle);
                }
                _ => return Err(unnamed),
            }
        }
        Ok(parcel)
    }

    /// Makes a call again.
    fn make(&mut self, call: &Call, service: &str, parcel: Parcel) -> Result<Outcome> {
        let handle = self.manager.find(service)?;
        let limit = Duration::from_secs(self.arguments.patience.into());
        let target = (handle, call.code, call.oneway);
        let outcome = self.manager.call(target, parcel, Some(limit))?;
        self.manager.driver.forget(&outcome);
        if matches!(outcome, Outcome::Hangs) {
            return Err(Error::with_advice(
                format!(
                    "{service} does not answer a call with the code {}.",
                    call.code
                ),
                "See what it does with `anybinder graph`, or give it longer (--patience).",
            ));
        }
        Ok(outcome)
    }

    /// The name of the method, and what differs.
    fn compare(&self, call: &Call, outcome: &Outcome) -> (String, Vec<Difference>) {
        let descriptor = call.interface.as_deref().unwrap_or_default();
        let library = self.library.as_ref();
        let found = library.and_then(|library| Interface::find(library, descriptor));
        let method = library
            .zip(found.as_ref())
            .and_then(|(library, interface)| {
                let called = interface.by_code(call.code)?;
                Some(interface.method(library, called))
            });
        let code = || format!("code {}", call.code);
        let name = method.map_or_else(code, |method| method.called.method.name.clone());
        let status =
            |number: i32| error(format!("status {:?} ({number})", StatusCode::from(number)));
        let reply = &call.reply_data;
        let first = word(&reply.bytes, 0).filter(|_| call.reply_flags & TF_STATUS_CODE != 0);
        let recorded = match (&call.error, first) {
            (Some(what), _) => error(what),
            (None, Some(number)) => status(number.cast_signed()),
            (None, None) => {
                let objects = reply.objects.iter();
                let offsets: Vec<u64> = objects.map(|at| u64::from(*at)).collect();
                answer(method, &reply.bytes, &offsets)
            }
        };
        let now = match outcome {
            Outcome::Status(number) => status(*number),
            Outcome::Dead => error("BR_DEAD_REPLY"),
            Outcome::Refused | Outcome::Hangs => error("BR_FAILED_REPLY"),
            Outcome::Reply(reply) => answer(method, &reply.data, &reply.offsets),
        };
        (name, compare(&recorded, &now, &self.arguments.ignore))
    }

    fn run(&mut self, calls: &[Call]) -> Result<Report> {
        let mut report = Report::default();
        let first_ns = calls.first().map_or(0, |call| call.sent_ns);
        let start = Instant::now();
        for call in calls {
            let Some(service) = self.service(call) else {
                *report.skipped.entry("to other objects").or_default() += 1;
                continue;
            };
            let parcel = match self.request(&call.request_data) {
                Ok(parcel) => parcel,
                Err(why) => {
                    *report.skipped.entry(why).or_default() += 1;
                    continue;
                }
            };
            if !self.arguments.fast {
                let due = start + Duration::from_nanos(call.sent_ns - first_ns);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            let outcome = self.make(call, &service, parcel)?;
            report.calls += 1;
            if call.oneway || call.reply_data.missing() > 0 {
                *report.skipped.entry(NOT_COMPARED).or_default() += usize::from(!call.oneway);
                continue;
            }
            let (method, differences) = self.compare(call, &outcome);
            if !differences.is_empty() {
                report.different.push(Differing {
                    number: report.calls,
                    service,
                    method,
                    differences,
                });
            }
        }
        Ok(report)
    }
}

fn print(report: &Report) {
    for one in &report.different {
        say(format_args!(
            "call {}, {} of {}:",
            one.number, one.method, one.service
        ));
        for Difference {
            path,
            recorded,
            now,
        } in &one.differences
        {
            say_lines(format_args!("  - {path}: {recorded}\n  + {path}: {now}"));
        }
    }
    say(format_args!(
        "{} calls, {} with another reply",
        report.calls,
        report.different.len()
    ));
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let has_files = !arguments.aidl.paths.is_empty();
    let library = has_files.then(|| interface_files::open(&arguments.aidl));
    let library = library.transpose()?;
    let recorded = read(&arguments.recording)?;
    let calls = &recorded.calls;
    if calls.is_empty() {
        recording::check_whole(&arguments.recording, recorded.flaw, recorded.lost)?;
    }
    if calls.iter().all(|call| call.request_data.bytes.is_empty()) {
        return Err(Error::with_advice(
            "The recording has no data of calls to services.",
            "Make it with `anybinder trace --payload --record FILE`.",
        ));
    }
    let device = &arguments.device.device;
    device::open(&context.mount, device, 0)?;
    device::service_manager(&context.mount, device)?;
    let interface = match &arguments.to {
        None => None,
        Some(name) => {
            let service = device::look_up(&context.mount, device, name)?;
            Some(service.descriptor().to_string())
        }
    };
    let null = File::open("/dev/null").map_err(|err| Error::new(format!("/dev/null: {err}.")))?;
    let mut replay = Replay {
        arguments,
        manager: RawManager::open(&context.mount, device)?,
        names: recorded.names,
        library,
        interface,
        null,
    };
    let report = replay.run(calls)?;
    for (why, count) in report.skipped.iter().filter(|(_, count)| **count > 0) {
        let what = match *why == NOT_COMPARED {
            true => "not compared",
            false => "left out",
        };
        note(format_args!("anybinder: {count} calls {why}: {what}."));
    }
    context.show(&report, print);
    recording::check_whole(&arguments.recording, recorded.flaw, recorded.lost)?;
    match (report.calls, report.different.len()) {
        (0, _) => Err(Error::new("No recorded call could be made.")),
        (_, 0) => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::FAILURE),
    }
}
