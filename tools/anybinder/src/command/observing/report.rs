// SPDX-License-Identifier: Apache-2.0
//! `anybinder report`: one text file with what another person needs to understand an error: what
//! looks wrong, versions, what the machine can do, the driver's own reports. Names and addresses
//! are left out unless they are asked for, and the end of the file says what was.
use super::system::methods;
use super::top::sample::{Sampler, Wanted};
use crate::command::instance::doctor::diagnosis::{diagnose, Diagnosis};
use crate::command::services::list;
use anybinder_cli::error::Result;
use anybinder_cli::new_file::{self, Readers};
use anybinder_cli::output::{harmless, harmless_lines, note};
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::binderfs;
use anybinder_mount::context::Context;
use anybinder_mount::process::command_name;
use anybinder_mount::state_report;
use anybinder_parcel::aidl::{Library, Roots};
use clap::ValueEnum;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How much of a driver's file or of a log is taken, from its end.
const MAX_SECTION: usize = 1 << 20;

/// The time between two looks for what grows, and after which a call hangs.
const LOOKS: Duration = Duration::from_secs(1);
const HANGING_MS: u64 = 2000;
/// The most findings that are told.
const MAX_MARKS: usize = 100;

/// What is private: who runs what, and where things are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Private {
    /// The names of the programs of the processes
    Commands,
    /// The names of the registered services
    Services,
    /// Addresses in the processes, as the driver prints them
    Addresses,
    /// The logs of the daemon and the service manager
    Logs,
    /// Paths and names of the user and the machine, else `<user>`, `<host>`, `<directory>`
    Names,
}

const PRIVATE: [(Private, &str); 5] = [
    (
        Private::Commands,
        "the names of programs (--include commands)",
    ),
    (
        Private::Services,
        "the names of services (--include services)",
    ),
    (
        Private::Addresses,
        "addresses in the processes (--include addresses)",
    ),
    (
        Private::Logs,
        "the logs of the daemon and the service manager (--include logs)",
    ),
    (
        Private::Names,
        "the names of the user and the machine (--include names)",
    ),
];

/// The returns in a failed transaction log.
const RETURNS: [(u32, &str); 4] = [
    (0x7205, "BR_DEAD_REPLY: the receiver is dead"),
    (0x7211, "BR_FAILED_REPLY: the driver refused it"),
    (0x7212, "BR_FROZEN_REPLY: the receiver is frozen"),
    (
        0x7214,
        "BR_TRANSACTION_PENDING_FROZEN: queued for a frozen receiver",
    ),
];

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The file [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// What else to put in; may be given several times
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    include: Vec<Private>,

    #[command(flatten)]
    aidl: Roots,

    #[command(flatten)]
    device: DeviceOption,
}

struct Report<'a> {
    context: &'a Context,
    arguments: &'a Arguments,
    text: String,
    library: Option<Library>,
    /// What could not be read.
    missing: Vec<String>,
}

/// What a return and an errno of a failed transaction mean.
fn reason(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "ret")?;
    let (code, errno) = words.get(at + 1)?.split_once('/')?;
    let code: u32 = code.parse().ok()?;
    let errno: i32 = errno.parse().ok()?;
    let known = RETURNS.iter().find(|(number, _)| *number == code);
    let name = known.map_or("another return", |(_, name)| name);
    Some(match errno {
        0 => name.to_string(),
        errno => format!("{name}; {}", std::io::Error::from_raw_os_error(-errno)),
    })
}

/// The line without addresses: those of nodes begin with u and c, transactions have bare ones.
fn without_addresses(line: &str) -> String {
    let is_hex = |text: &str| text.len() >= 8 && text.bytes().all(|one| one.is_ascii_hexdigit());
    let words = line.split(' ').map(|word| {
        let bare = word.strip_prefix(['u', 'c']).unwrap_or(word);
        match is_hex(bare) {
            true => "-",
            false => word,
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

impl Report<'_> {
    fn includes(&self, what: Private) -> bool {
        self.arguments.include.contains(&what)
    }

    fn section(&mut self, title: &str, lines: impl IntoIterator<Item = String>) {
        self.text.push_str(&format!("\n== {title}\n"));
        for line in lines {
            self.text.push_str(&harmless_lines(&line));
            self.text.push('\n');
        }
    }

    /// What `anybinder top` would mark.
    fn findings(&mut self) {
        let device = &self.arguments.device.device;
        let wanted = Wanted {
            services: self.includes(Private::Services),
            commands: self.includes(Private::Commands),
            latencies: false,
            is_lean: false,
        };
        let sample = Sampler::new(
            self.context,
            device,
            HANGING_MS,
            &wanted,
            self.library.take(),
        )
        .and_then(|mut sampler| sampler.sample_of(LOOKS));
        let (marks, processes) = match sample {
            Ok(sample) => (sample.marks, sample.processes),
            Err(err) => return self.missing.push(format!("what looks wrong: {err}")),
        };
        let mut lines: Vec<String> = marks.iter().map(|one| harmless(&one.text())).collect();
        if lines.len() > MAX_MARKS {
            lines.truncate(MAX_MARKS);
            lines.push(format!("{} in all: `anybinder top --once`", marks.len()));
        }
        if lines.is_empty() {
            lines.push("nothing, at several looks within a second".to_string());
        }
        self.section("what looks wrong", lines);
        let restarted = processes.iter().filter(|one| one.restarts > Some(0));
        let lines: Vec<String> = restarted
            .map(|one| {
                let process = format!("{} {}", one.pid, one.command);
                let restarts = one.restarts.unwrap_or(0);
                harmless(&format!("{}: {restarts}", process.trim_end()))
            })
            .collect();
        self.section("restarts of services in the last minute", lines);
    }

    fn machine(&mut self, diagnosis: &Diagnosis) {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let name = release
            .lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="));
        let system = rustix::system::uname();
        let lines = vec![
            format!("anybinder {}", env!("CARGO_PKG_VERSION")),
            format!(
                "Linux {} {}, {}",
                system.release().to_string_lossy(),
                system.version().to_string_lossy(),
                system.machine().to_string_lossy()
            ),
            format!(
                "distribution {}",
                name.unwrap_or("unknown").trim_matches('"')
            ),
        ];
        self.section("versions", lines);
        self.section("doctor", diagnosis.answers());
    }

    fn mount(&mut self) {
        let mount = &self.context.mount;
        let mut lines = vec![format!("served by: {:?}", mount.backend())];
        lines.push(format!("devices: {}", mount.devices().join(", ")));
        let features = binderfs::features(mount);
        lines.extend(
            features
                .iter()
                .map(|(name, value)| format!("feature {name}: {value}")),
        );
        self.section("mount", lines);
    }

    /// A file of `binder_logs`.
    fn log(&mut self, name: &str) {
        let text = match state_report::read_log(&self.context.mount, name) {
            Ok(text) => text,
            Err(err) => {
                self.missing.push(format!("binder_logs/{name}: {err}"));
                return;
            }
        };
        let keep_addresses = self.includes(Private::Addresses);
        let lines: Vec<String> = tail(&text)
            .lines()
            .map(|line| match keep_addresses {
                true => line.to_string(),
                false => without_addresses(line),
            })
            .collect();
        self.section(&format!("binder_logs/{name}"), lines);
    }

    fn failures(&mut self) {
        let failed = state_report::logged(&self.context.mount, "failed_transaction_log");
        let lines: Vec<String> = failed
            .unwrap_or_default()
            .into_iter()
            .map(|one| match reason(&one.line) {
                Some(reason) => format!("{}\n    {reason}", one.line),
                None => one.line,
            })
            .collect();
        self.section("failed transactions and their reasons", lines);
    }

    fn commands(&mut self) {
        let processes = binderfs::process_stats(&self.context.mount).unwrap_or_default();
        let pids: BTreeSet<u32> = processes.iter().map(|one| one.pid).collect();
        let lines: Vec<String> = pids
            .into_iter()
            .map(|pid| harmless(&format!("{pid} {}", command_name(pid))))
            .collect();
        self.section("programs", lines);
    }

    fn services(&mut self) {
        let name = &self.arguments.device.device;
        let listed = device::open(&self.context.mount, name, 0)
            .and_then(|()| device::service_manager(&self.context.mount, name))
            .and_then(|_| list::services());
        match listed {
            Ok(services) => {
                let line =
                    |one: list::Service| harmless(&format!("{} {}", one.place.pid, one.name));
                self.section("services", services.into_iter().map(line));
            }
            Err(err) => self.missing.push(format!("services: {err}")),
        }
    }

    fn own_log(&mut self, suffix: &str) {
        let path = self.context.mount.state_file(suffix);
        match std::fs::read(&path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                self.section(suffix, tail(&text).lines().map(str::to_string));
            }
            Err(err) => self.missing.push(format!("{suffix}: {err}")),
        }
    }

    /// Replaces names of the user and the machine.
    fn hide_names(&mut self) {
        let system = rustix::system::uname();
        let host = system.nodename().to_string_lossy().into_owned();
        let directory = std::env::var("HOME").unwrap_or_default();
        let user = std::env::var("USER").unwrap_or_default();
        for (name, shown) in [
            (directory, "<directory>"),
            (host, "<host>"),
            (user, "<user>"),
        ] {
            // "root" and "/root" tell nothing.
            if name.len() > 2 && name != "root" && name != "/root" {
                self.text = self.text.replace(&name, shown);
            }
        }
    }
}

/// The end of a long text, from the start of a line.
fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(MAX_SECTION);
    while start > 0 && !text.is_char_boundary(start) {
        start += 1;
    }
    match start {
        0 => text,
        _ => text[start..].split_once('\n').map_or("", |(_, rest)| rest),
    }
}

fn report_text(
    context: &Context,
    arguments: &Arguments,
    diagnosis: &Diagnosis,
    library: Option<Library>,
) -> String {
    let mut report = Report {
        context,
        arguments,
        text: "anybinder report\n".to_string(),
        library,
        missing: Vec::new(),
    };
    let served = context.mount.check_served();
    if served.is_ok() {
        report.findings();
    }
    report.machine(diagnosis);
    match served {
        Ok(()) => {
            report.mount();
            report.failures();
            for name in ["stats", "state", "transactions", "transaction_log"] {
                report.log(name);
            }
            if report.includes(Private::Commands) {
                report.commands();
            }
            if report.includes(Private::Services) {
                report.services();
            }
        }
        Err(err) => report.missing.push(format!("the mount: {err}")),
    }
    if report.includes(Private::Logs) {
        report.own_log("daemon.log");
        report.own_log("manager.log");
    }
    if !report.includes(Private::Names) {
        report.hide_names();
    }
    let left_out = PRIVATE.iter().filter(|(what, _)| !report.includes(*what));
    let left_out: Vec<String> = left_out
        .map(|(_, text)| format!("left out: {text}"))
        .collect();
    let missing = std::mem::take(&mut report.missing);
    let missing = missing
        .into_iter()
        .map(|text| format!("could not be read: {text}"));
    let lines: Vec<String> = left_out.into_iter().chain(missing).collect();
    report.section("what is not in this report", lines);
    report.text
}

/// Writes the file of a report without anything private.
pub fn write(context: &Context, diagnosis: &Diagnosis, path: &Path) -> Result<()> {
    let arguments = Arguments {
        output: Some(path.to_path_buf()),
        include: Vec::new(),
        aidl: Roots::default(),
        device: DeviceOption {
            device: "binder".to_string(),
        },
    };
    save(path, &report_text(context, &arguments, diagnosis, None))
}

fn save(path: &Path, text: &str) -> Result<()> {
    new_file::write(path, Readers::Usual, text.as_bytes())?;
    note(format_args!(
        "anybinder: {} is written; read it before you send it.",
        path.display()
    ));
    Ok(())
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let library = methods::library(&arguments.aidl)?;
    let text = report_text(context, arguments, &diagnose(context)?, library);
    match &arguments.output {
        Some(path) => save(path, &text)?,
        None if context.json => {
            let sections = serde_json::json!({ "report": text });
            context.show(&sections, |_| {});
        }
        None => {
            let _ = std::io::stdout().write_all(text.as_bytes());
        }
    }
    Ok(ExitCode::SUCCESS)
}
