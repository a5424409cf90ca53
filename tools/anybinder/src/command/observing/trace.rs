// SPDX-License-Identifier: Apache-2.0
//! `anybinder trace`: the calls of a Binder driver as they happen.
mod dump;
mod filter;
mod line;
mod payload;
mod program;
mod services;
mod show;
mod summary;
mod told;
mod value;

use crate::command::services::call::typed;
use anybinder_client::device::DeviceOption;
use anybinder_events::call::{Assembler, Call};
use anybinder_events::event::{monotonic_ns, Event, Extra, What};
use anybinder_events::names::Names;
use anybinder_events::perfetto;
use anybinder_events::recording::{self, Recorder, Recording};
use anybinder_events::source::Source;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use anybinder_mount::mount::{Backend, Mount};
use filter::Filter;
use payload::Payloads;
use program::Program;
use services::Services;
use show::Show;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use told::Which;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    filter: Filter,

    /// Show what is passed: arguments and results by the types of --aidl, other data as bytes;
    /// with =all also what its sender wants to be cleared after use, for root alone
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "kept")]
    payload: Option<Which>,

    /// Directory of .aidl files (or one such file), for --payload
    #[arg(long, value_name = "DIR", requires = "payload")]
    aidl: Vec<PathBuf>,

    /// Show so many bytes of each parcel, behind its header; the driver tells at most 1024 with it
    #[arg(long, value_name = "BYTES", requires = "payload", default_value_t = payload::SHOWN)]
    payload_bytes: usize,

    /// Print no calls, but a table of methods at the end: calls, errors, times, bytes
    #[arg(long)]
    summary: bool,

    /// Also keep the events in FILE, for --from
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    record: Option<PathBuf>,

    /// Show what a recording has, instead of what happens now
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// Also write a trace for Perfetto (https://ui.perfetto.dev), with the stages of each call
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,

    /// End after so many seconds [default: at an interrupt, or with CMD]
    #[arg(long, value_name = "SECONDS", conflicts_with = "from")]
    seconds: Option<u32>,

    /// Names of services come from the service manager of this device; calls of all are shown
    #[command(flatten)]
    device: DeviceOption,

    /// Run a program on the mount, show its calls and those made to serve them, and end with it.
    /// The calls are printed on standard error then
    #[arg(last = true, value_name = "CMD", conflicts_with = "from")]
    command: Vec<OsString>,
}

/// How long one read waits; also how long calls are awaited after the program has ended.
const WAIT: Duration = Duration::from_millis(100);

/// What is done with each event and each call.
struct Trace<'a> {
    arguments: &'a Arguments,
    assembler: Assembler,
    names: Names,
    show: Show,
    recorder: Option<Recorder>,
    /// All events, if a Perfetto trace is to be written.
    kept: Vec<Event>,
    program: Option<Program>,
    /// This process, whose own calls are left out; 0 in a recording.
    own_pid: i32,
}

impl Trace<'_> {
    fn event(&mut self, event: &Event) -> Result<()> {
        self.assembler.push(event, &mut self.names);
        for thread in self.names.take_new() {
            if let Some(program) = &mut self.program {
                program.see(thread.pid);
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.thread(thread)?;
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.event(event)?;
        }
        if self.arguments.perfetto.is_some() && !matches!(event.what, What::Data { .. }) {
            self.kept.push(event.clone());
        }
        if let What::Sent(sent) = &event.what {
            if let Some(program) = &mut self.program {
                let from = self.names.thread(event.tid, sent.from_pid, None);
                program.sent(sent, &from);
            }
        }
        Ok(())
    }

    fn calls(&mut self, calls: Vec<Call>) -> Result<()> {
        for mut call in calls {
            // Perhaps the name of its service is known by now.
            call.give_names(&self.names);
            let own =
                self.own_pid != 0 && (call.from.pid == self.own_pid || call.to.pid == self.own_pid);
            let of_program = self
                .program
                .as_ref()
                .is_none_or(|program| program.made(&call));
            if !own && of_program && self.arguments.filter.wants(&call) {
                self.show.call(&call, &self.names)?;
            }
        }
        self.show.flush()
    }

    fn finish(mut self, boot_offset_ns: i64) -> Result<()> {
        let left = self.assembler.finish();
        self.calls(left)?;
        if let Some(recorder) = self.recorder.take() {
            recorder.finish()?;
        }
        if let Some(path) = &self.arguments.perfetto {
            let trace = perfetto::encode(&self.kept, &mut self.names, boot_offset_ns);
            std::fs::write(path, trace).doing(|| format!("writing {}", path.display()))?;
        }
        self.show.finish(self.assembler.lost)
    }
}

/// How data is shown; None if it is not asked for.
fn payloads(arguments: &Arguments) -> Result<Option<Payloads>> {
    let Some(which) = arguments.payload else {
        return Ok(None);
    };
    let library = match arguments.aidl.as_slice() {
        [] => None,
        roots => Some(typed::open(roots)?),
    };
    Ok(Some(Payloads::new(library, arguments.payload_bytes, which)))
}

fn replay(context: &Context, arguments: &Arguments, path: &std::path::Path) -> Result<ExitCode> {
    let payloads = payloads(arguments)?;
    let recording = Recording::read(path)?;
    let has_data = |event: &Event| matches!(event.what, What::Data { .. });
    if arguments.payload.is_some() && !recording.events.iter().any(has_data) {
        eprintln!("anybinder: The recording has no data: make it with --payload.");
    }
    let mut trace = Trace {
        arguments,
        assembler: Assembler::default(),
        names: recording.names,
        show: Show::new(context.json, arguments.summary, false, payloads),
        recorder: None,
        kept: Vec::new(),
        program: None,
        own_pid: 0,
    };
    for event in &recording.events {
        trace.event(event)?;
        let calls = trace.assembler.take(event.time_ns);
        trace.calls(calls)?;
    }
    trace.finish(recording.boot_offset_ns)?;
    match recording.cut_short {
        false => Ok(ExitCode::SUCCESS),
        true => Err(Error::with_advice(
            format!("The recording {} is cut short.", path.display()),
            "What it has was shown. The program that made it was killed, or its disk was full.",
        )),
    }
}

/// When a trace ends. Events are read up to that time and not until there are none: on a busy
/// device there always are some.
struct End {
    deadline: Option<Instant>,
    /// CLOCK_MONOTONIC; None while it goes on.
    last_ns: Option<u64>,
}

impl End {
    fn after(seconds: Option<u32>) -> Self {
        End {
            deadline: seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into())),
            last_ns: None,
        }
    }

    /// After a read that gave events up to `newest_ns`, None: it gave none.
    fn is_reached(&self, newest_ns: Option<u64>) -> bool {
        self.last_ns
            .is_some_and(|last_ns| newest_ns.is_none_or(|newest_ns| newest_ns > last_ns))
    }

    /// Decides whether now is the time. What the calls that are under way still do is awaited a
    /// little, for they may be those of a program that has ended just now.
    fn look(&mut self, program: Option<&mut Program>) {
        let is_over = self.deadline.is_some_and(|at| Instant::now() >= at)
            || interrupt::check().is_err()
            || program.is_some_and(Program::has_ended);
        if is_over && self.last_ns.is_none() {
            self.last_ns = Some(monotonic_ns() + WAIT.as_nanos() as u64);
        }
    }
}

/// Why there is no data.
fn no_data(mount: &Mount) -> &'static str {
    match mount.backend() {
        Backend::Kernel => {
            "This kernel's driver does not tell what is passed in calls: only the module of \
             anybinder has a tracepoint for it. All else is shown."
        }
        _ => {
            "The daemon is older than this program and does not tell what is passed in calls. All \
             else is shown."
        }
    }
}

/// Reads and shows until the end.
fn follow(trace: &mut Trace, source: &mut Source, services: &mut Services) -> Result<()> {
    let mut end = End::after(trace.arguments.seconds);
    let mut events = Vec::new();
    loop {
        source.read(WAIT, &mut events)?;
        let newest_ns = events.iter().map(|event| event.time_ns).max();
        for event in events.drain(..) {
            services.note(&event);
            trace.event(&event)?;
        }
        // Before the calls are shown: some may be the first ones to a new service.
        services.update(&mut trace.names, trace.recorder.as_mut())?;
        let calls = trace.assembler.take(monotonic_ns());
        trace.calls(calls)?;
        if end.is_reached(newest_ns) {
            return Ok(());
        }
        end.look(trace.program.as_mut());
    }
}

fn live(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let payloads = payloads(arguments)?;
    interrupt::defer();
    let extra = Extra {
        stages: arguments.perfetto.is_some(),
        data: arguments.payload.is_some(),
        data_to_clear: arguments.payload == Some(Which::All),
    };
    let mut source = Source::open(&context.mount, extra)?;
    if arguments.payload.is_some() && !source.has_data() {
        eprintln!("anybinder: {}", no_data(&context.mount));
    }
    let mut services = Services::find(&context.mount, &arguments.device.device)?;
    let mut recorder = arguments
        .record
        .as_deref()
        .map(Recorder::create)
        .transpose()?;
    let mut names = Names::default();
    services.update(&mut names, recorder.as_mut())?;
    let program = match arguments.command.as_slice() {
        [] => None,
        command => Some(Program::start(&context.mount, command)?),
    };
    let mut trace = Trace {
        arguments,
        assembler: Assembler::default(),
        names,
        show: Show::new(context.json, arguments.summary, program.is_some(), payloads),
        recorder,
        kept: Vec::new(),
        program,
        own_pid: std::process::id() as i32,
    };
    follow(&mut trace, &mut source, &mut services)?;
    let status = trace.program.as_mut().map(Program::exit_code);
    trace.finish(recording::boot_offset_ns())?;
    Ok(status.unwrap_or(ExitCode::SUCCESS))
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.from {
        Some(path) => replay(context, arguments, path),
        None => live(context, arguments),
    }
}
