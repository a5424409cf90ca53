// SPDX-License-Identifier: Apache-2.0
//! `anybinder fuzz NAME --aidl DIR`: random calls to a service, until one of them kills it, hangs,
//! or makes it grow.
mod attempt;
mod subject;
mod values;

use crate::command::services::interface_files;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::{note, say};
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::{Library, Roots};
use anybinder_parcel::interface_methods::Interface;
use attempt::Attempt;
use fastrand::Rng;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use subject::{Finding, Subject};

/// After so many calls it is looked whether the service grows.
const SAMPLE: usize = 200;
/// So often a call is made to see whether it makes the service grow.
const REPEATS: usize = 50;
/// So many shorter calls are tried.
const SHORTER_MAX: usize = 60;

const HELP: &str = "\
With CMD, which registers the service, it is started again after it has died or hangs, and shorter
calls that do the same are looked for; without, only if somebody else starts it again. Binders are
null or the service itself, files are /dev/null. Exit status 1: something was found.";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The service's name
    name: String,

    #[command(flatten)]
    aidl: Roots,

    /// With the same number, the same calls are made
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How many calls to make
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    calls: usize,

    /// How long a reply may take before the call counts as one that hangs, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    patience: u32,

    #[command(flatten)]
    device: DeviceOption,

    /// The program that registers the service, with its arguments
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

#[derive(Serialize)]
struct Report {
    calls: usize,
    methods: usize,
    /// None if nothing was found.
    found: Option<Finding>,
    /// The command that does it.
    call: Option<String>,
}

/// The service that is called.
pub struct Service<'a> {
    library: &'a Library,
    interface: &'a Arc<Interface>,
    /// The name, which stands for binders.
    name: &'a str,
}

struct Fuzz<'a> {
    service: &'a Service<'a>,
    subject: Subject<'a>,
    random: Rng,
    /// The last call of each code that the service has answered.
    last: BTreeMap<u32, Attempt>,
    made: usize,
}

impl Fuzz<'_> {
    fn make(&mut self, attempt: &Attempt) -> Result<Option<Finding>> {
        self.made += 1;
        self.subject.make(self.service, attempt)
    }

    /// Makes calls until one does harm.
    fn search(&mut self, calls: usize) -> Result<Option<(Finding, Attempt)>> {
        for number in 1..=calls {
            let attempt = Attempt::random(self.service, &mut self.random)?;
            if let Some(finding) = self.make(&attempt)? {
                return Ok(Some((finding, attempt)));
            }
            self.last.insert(attempt.code, attempt);
            let is_last = number == calls;
            if (is_last || number.is_multiple_of(SAMPLE)) && self.subject.has_grown() {
                return self.grower();
            }
        }
        Ok(None)
    }

    /// Which of the last calls makes the service grow most.
    fn grower(&mut self) -> Result<Option<(Finding, Attempt)>> {
        let mut most = None;
        for attempt in self.last.clone().into_values() {
            let before = self.subject.size();
            for _ in 0..REPEATS {
                if let Some(finding) = self.make(&attempt)? {
                    return Ok(Some((finding, attempt)));
                }
            }
            let growth = self.subject.size().saturating_sub(before);
            if most.as_ref().is_none_or(|(most, _)| growth > *most) {
                most = Some((growth, attempt));
            }
        }
        Ok(most.map(|(_, attempt)| (subject::GROWTH, attempt)))
    }

    /// Whether a call does the same to a new service; None if there is none.
    fn does(&mut self, wanted: Finding, attempt: &Attempt) -> Result<Option<bool>> {
        if !self.subject.revive()? {
            return Ok(None);
        }
        Ok(Some(self.make(attempt)? == Some(wanted)))
    }

    /// A shorter call that does the same. None if the call alone does not do it.
    fn shorten(&mut self, finding: Finding, attempt: Attempt) -> Result<Option<Attempt>> {
        if finding == subject::GROWTH {
            return Ok(Some(attempt));
        }
        match self.does(finding, &attempt)? {
            None => return Ok(Some(attempt)),
            Some(false) => return Ok(None),
            Some(true) => {}
        }
        let mut shortest = attempt;
        let mut tried = 0;
        'shorter: loop {
            for shorter in shortest.shorter(self.service)? {
                tried += 1;
                if tried > SHORTER_MAX {
                    return Ok(Some(shortest));
                }
                if self.does(finding, &shorter)? == Some(true) {
                    shortest = shorter;
                    continue 'shorter;
                }
            }
            return Ok(Some(shortest));
        }
    }
}

fn print(report: &Report) {
    let Report { calls, methods, .. } = report;
    let made = format!("{calls} calls of {methods} methods");
    match (report.found, &report.call) {
        (Some(found), Some(call)) => {
            say(format_args!("{made}: {found}, by"));
            say(call);
        }
        (Some(found), None) => say(format_args!(
            "{made}: {found}, by several calls: the last one alone does not do it"
        )),
        _ => say(format_args!("{made}: no death, no hang, no growth")),
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let name = &arguments.name;
    let device = &arguments.device.device;
    if arguments.aidl.paths.is_empty() {
        return Err(Error::usage(
            "Nothing says what the service takes: give --aidl DIR.",
        ));
    }
    let library = interface_files::open(&arguments.aidl)?;
    device::check_aidl(device, name)?;
    let patience = Duration::from_secs(arguments.patience.into());
    let mut subject = Subject::new((context, device), name, &arguments.command, patience)?;
    let descriptor = subject.descriptor()?;
    let entry = interface_files::interface(&library, &descriptor, &descriptor)?;
    let interface = Interface::of(&library, entry);
    let interface = interface.filter(|interface| !interface.own().is_empty());
    let interface =
        interface.ok_or_else(|| Error::usage(format!("{descriptor} has no methods.")))?;
    let service = Service {
        library: &library,
        interface: &interface,
        name,
    };
    subject.begin();
    let mut fuzz = Fuzz {
        service: &service,
        subject,
        random: Rng::with_seed(arguments.seed),
        last: BTreeMap::new(),
        made: 0,
    };
    let found = fuzz.search(arguments.calls)?;
    let mut report = Report {
        calls: fuzz.made,
        methods: interface.own().len(),
        found: found.as_ref().map(|(finding, _)| *finding),
        call: None,
    };
    if let Some((finding, attempt)) = found {
        let made = fuzz.made;
        note(format_args!("anybinder: {finding} after {made} calls."));
        let shortest = fuzz.shorten(finding, attempt)?;
        let roots = arguments.aidl.paths.iter();
        let aidl: Vec<String> = roots.map(|path| path.display().to_string()).collect();
        report.call = shortest.map(|one| one.line(&service, device, &aidl));
    }
    context.show(&report, print);
    match report.found {
        Some(_) => Ok(ExitCode::from(Kind::Failed.exit_status())),
        None => Ok(ExitCode::SUCCESS),
    }
}
