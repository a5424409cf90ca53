// SPDX-License-Identifier: Apache-2.0
//! `anybinder trace`: the calls of a Binder driver as they happen.
mod call_text;
mod cut;
mod dump;
mod filter;
mod line;
mod own_calls;
mod program;
mod service_lookup;
mod show;
mod summary;
mod tree;
mod typed_payload;
mod value;

use crate::command::observing::system::methods;
use anybinder_cli::error::{Error, Result};
use anybinder_cli::interrupt;
use anybinder_cli::new_file::{NewFile, Readers};
use anybinder_cli::output::note;
use anybinder_cli::time_limit::waits_because;
use anybinder_client::device::DeviceOption;
use anybinder_events::calls::{Assembler, Call};
use anybinder_events::event::{monotonic_ns, Event, Extra, What};
use anybinder_events::event_stream::{Source, Stream};
use anybinder_events::perfetto;
use anybinder_events::recording::{self, Recorder, Recording};
use anybinder_events::thread_names::Names;
use anybinder_mount::context::Context;
use anybinder_mount::mount::{Backend, Mount};
use anybinder_parcel::aidl::Roots;
use call_text::{Reader, Which};
use cut::Cut;
use filter::Filter;
use own_calls::Own;
use program::Program;
use service_lookup::Services;
use show::Show;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use summary::By;
use tree::{Leveled, Tree};
use typed_payload::Payloads;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    filter: Filter,

    /// Show what is passed: arguments and results by the types of --aidl, other data as bytes;
    /// with =all also what its sender wants to be cleared after use, for root alone
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "kept")]
    payload: Option<Which>,

    #[command(flatten)]
    aidl: Roots,

    /// Show so many bytes of each parcel, behind its header; the driver tells at most 1024 with it
    #[arg(long, value_name = "BYTES", requires = "payload", default_value_t = typed_payload::SHOWN)]
    payload_bytes: usize,

    /// Print no calls, but a table of methods at the end: calls, errors, times, bytes
    #[arg(long)]
    summary: bool,

    /// Show only the methods of the table that took most time in total
    #[arg(long, value_name = "N", requires = "summary")]
    top: Option<usize>,

    /// What has a row in the table [default: a method of an interface]
    #[arg(long, value_enum, value_name = "WHAT", requires = "summary")]
    by: Option<By>,

    /// Print no calls, but keep them
    #[arg(long, requires = "record", conflicts_with = "summary")]
    quiet: bool,

    /// Show calls below those that they are made to serve, as with CMD
    #[arg(long, conflicts_with = "summary")]
    tree: bool,

    /// Also keep the events in FILE, for --from, with the files of --aidl that they need; with
    /// --from, those of the calls that are wanted
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Keep nothing of what is passed, and in place of names and numbers of processes and threads
    /// others, the same for the same; names of services and methods stay
    #[arg(long, requires = "from", requires = "record")]
    anonymous: bool,

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

    /// Run a program on the mount and end with it. Shown are its calls, below each those made to
    /// serve it, and calls to the program, on standard error
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
    /// The calls of a recording that are kept in another one.
    cut: Option<Cut<'a>>,
    /// Where a trace for Perfetto goes, and all events, of which it is made.
    perfetto: Option<NewFile>,
    recorded: Vec<Event>,
    program: Option<Program>,
    /// The calls of this process; None in a recording.
    own: Option<Own>,
    tree: Option<Tree>,
    /// When the first call was sent.
    start_ns: Option<u64>,
    /// The time up to which calls were taken.
    now_ns: u64,
}

impl Trace<'_> {
    fn event(&mut self, event: &Event) -> Result<()> {
        if self.own.as_mut().is_some_and(|own| own.made(event)) {
            return Ok(());
        }
        self.assembler.push(event, &mut self.names);
        for thread in self.names.take_new() {
            if let Some(program) = &mut self.program {
                program.see(thread.pid);
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.thread(thread)?;
            }
        }
        // The names of processes are recorded with their calls.
        let is_name = matches!(event.what, What::Opened { .. });
        if let Some(recorder) = self.recorder.as_mut().filter(|_| !is_name) {
            recorder.event(event)?;
        }
        if self.perfetto.is_some() && !matches!(event.what, What::Data { .. }) {
            self.recorded.push(event.clone());
        }
        if let Some(sent) = event.what.transaction() {
            self.start_ns.get_or_insert(event.time_ns);
            self.begin(sent.id);
        }
        Ok(())
    }

    fn wants(&self, call: &Call) -> bool {
        let start_ns = self.start_ns.unwrap_or(0);
        let filter = &self.arguments.filter;
        filter.wants(call, start_ns, || self.show.method(call))
    }

    /// A call begins, unless it is a reply.
    fn begin(&mut self, id: u32) {
        let Some(call) = self.assembler.open_call(id) else {
            return;
        };
        let mut parent = call.parent;
        if let Some(program) = self.program.as_mut() {
            if !program.begin(call) {
                return;
            }
            // What the program does by itself is not done for its callbacks.
            parent = parent.filter(|_| !call.by_other_thread || !program.has(call.from.pid));
        }
        if let Some(tree) = self.tree.as_mut() {
            tree.sent(id, parent);
        }
    }

    /// Shows calls that are over; `now_ns`: the time, None: the end.
    fn calls(&mut self, calls: Vec<Call>, now_ns: Option<u64>) -> Result<()> {
        self.now_ns = self.now_ns.max(now_ns.unwrap_or(0));
        for mut call in calls {
            // Perhaps the name of its service is known by now.
            call.give_names(&self.names);
            typed_payload::give_interface(&mut call);
            let program = self.program.as_mut();
            if !program.is_none_or(|program| program.end(&call)) {
                continue;
            }
            if self.cut.is_some() && self.wants(&call) {
                self.cut.iter_mut().for_each(|cut| cut.keep(&call));
            }
            let alone = match &mut self.tree {
                Some(tree) => tree.over(call),
                None => Some(Leveled::alone(call)),
            };
            if let Some(one) = alone.filter(|one| self.wants(&one.call)) {
                self.show.call(&one, &self.names, self.now_ns)?;
            }
        }
        let trees = self.tree.as_mut().map(|tree| tree.take(now_ns));
        for tree in trees.unwrap_or_default() {
            for one in tree::chosen(tree, |call| self.wants(call)) {
                self.show.call(&one, &self.names, self.now_ns)?;
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.flush()?;
        }
        self.show.flush()
    }

    /// Returns how many events are missing.
    fn finish(mut self, boot_offset_ns: i64) -> Result<u64> {
        let left = self.assembler.finish();
        self.calls(left, None)?;
        if let Some(mut recorder) = self.recorder.take() {
            let services = self.names.services();
            let interfaces = services.map(|(_, service)| service.interface.as_str());
            for (path, text) in self.show.aidl(interfaces) {
                recorder.aidl(path, text)?;
            }
            recorder.finish()?;
        }
        if let Some(mut file) = self.perfetto.take() {
            let method = |call: &Call| self.show.method(call);
            let trace = perfetto::encode(&self.recorded, &mut self.names, boot_offset_ns, &method);
            file.put(&trace)?;
            file.take_place()?;
        }
        let lost = self.assembler.lost;
        self.show.finish(lost)?;
        if let Some(cut) = self.cut {
            cut.write(self.start_ns.unwrap_or(0))?;
        }
        Ok(lost)
    }
}

/// What reads the types of calls. `recorded`: the `.aidl` files of a recording.
fn reader(arguments: &Arguments, recorded: &BTreeMap<String, String>) -> Result<Reader> {
    let library = methods::library_or(&arguments.aidl, recorded)?;
    Ok(Reader::new(
        library,
        arguments.payload.unwrap_or(Which::Kept),
    ))
}

fn show(
    context: &Context,
    arguments: &Arguments,
    recorded: &BTreeMap<String, String>,
) -> Result<Show> {
    let payloads = Payloads::new(reader(arguments, recorded)?, arguments.payload_bytes);
    Ok(Show::new(show::Shown {
        json: context.json,
        beside: !arguments.command.is_empty(),
        summary: arguments.summary.then_some((arguments.top, arguments.by)),
        quiet: arguments.quiet,
        data: arguments.payload.is_some(),
        payloads,
    }))
}

fn perfetto_file(arguments: &Arguments) -> Result<Option<NewFile>> {
    let path = arguments.perfetto.as_deref();
    path.map(|path| NewFile::create(path, Readers::Owner))
        .transpose()
}

fn tree(context: &Context, arguments: &Arguments) -> Option<Tree> {
    let is_wanted = arguments.tree || !arguments.command.is_empty();
    (is_wanted && !arguments.summary && !context.json).then(Tree::default)
}

fn cut<'a>(arguments: &'a Arguments, from: &'a Path) -> Result<Option<Cut<'a>>> {
    let to = arguments.record.as_deref();
    to.map(|to| Cut::new(from, to, &arguments.filter, arguments.anonymous))
        .transpose()
}

fn replay(context: &Context, arguments: &Arguments, path: &Path) -> Result<ExitCode> {
    let mut names = Names::recorded();
    let mut recording = Recording::open(path, &mut names)?;
    let show = show(context, arguments, &recording.aidl)?;
    let mut trace = Trace {
        arguments,
        assembler: Assembler::default(),
        names,
        show,
        recorder: None,
        cut: cut(arguments, path)?,
        perfetto: perfetto_file(arguments)?,
        recorded: Vec::new(),
        program: None,
        own: None,
        tree: tree(context, arguments),
        start_ns: None,
        now_ns: 0,
    };
    let mut has_data = false;
    while let Some(event) = recording.next(&mut trace.names) {
        has_data |= matches!(event.what, What::Data { .. });
        trace.event(&event)?;
        let calls = trace.assembler.take(event.time_ns);
        trace.calls(calls, Some(event.time_ns))?;
    }
    if arguments.payload.is_some() && !has_data {
        note("anybinder: The recording has no data: make it with --payload.");
    }
    let lost = trace.finish(recording.boot_offset_ns)?;
    recording::check_whole(path, recording.flaw, lost)?;
    Ok(ExitCode::SUCCESS)
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

    /// After the events up to `until_ns`.
    fn is_reached(&self, until_ns: u64) -> bool {
        self.last_ns.is_some_and(|last_ns| until_ns > last_ns)
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

/// Why a trace goes on.
fn reason(filter: &Filter, services: &Services) -> Error {
    match filter.service() {
        Some(part) if !services.has(part) => Error::with_advice(
            format!("No service has {part} in its name."),
            "See the registered ones with `anybinder list`.",
        ),
        _ => Error::new("It shows calls until it is interrupted, or for --seconds."),
    }
}

/// Reads and shows until the end.
fn follow(trace: &mut Trace, stream: &mut Stream, services: &mut Services) -> Result<()> {
    let mut end = End::after(trace.arguments.seconds);
    loop {
        let portion = stream.receive()?;
        for event in &portion.events {
            services.note(event);
            trace.event(event)?;
        }
        // Before the calls are shown: some may be the first ones to a new service.
        services.update(&mut trace.names, trace.recorder.as_mut())?;
        waits_because(&reason(&trace.arguments.filter, services));
        let calls = trace.assembler.take(portion.until_ns);
        trace.calls(calls, Some(portion.until_ns))?;
        if end.is_reached(portion.until_ns) {
            return Ok(());
        }
        end.look(trace.program.as_mut());
    }
}

fn live(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let show = show(context, arguments, &BTreeMap::new())?;
    interrupt::defer();
    let extra = Extra {
        stages: arguments.perfetto.is_some(),
        data: arguments.payload.is_some(),
        data_to_clear: arguments.payload == Some(Which::All),
        is_lean: false,
    };
    let source = Source::open(&context.mount, extra)?;
    if arguments.payload.is_some() && !source.has_data() {
        note(format_args!("anybinder: {}", no_data(&context.mount)));
    }
    let mut services = Services::find(&context.mount, &arguments.device.device)?;
    let mut recorder = arguments
        .record
        .as_deref()
        .map(Recorder::create)
        .transpose()?;
    let perfetto = perfetto_file(arguments)?;
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
        show,
        recorder,
        cut: None,
        perfetto,
        recorded: Vec::new(),
        program,
        own: Some(Own::new()),
        tree: tree(context, arguments),
        start_ns: None,
        now_ns: 0,
    };
    follow(&mut trace, &mut Stream::start(source), &mut services)?;
    let status = trace.program.as_mut().map(Program::exit_code);
    let lost = trace.finish(recording::boot_offset_ns())?;
    match status.filter(|status| *status != ExitCode::SUCCESS) {
        Some(status) => Ok(status),
        None => recording::check_lost(lost).map(|()| ExitCode::SUCCESS),
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.from {
        Some(path) => replay(context, arguments, path),
        None => live(context, arguments),
    }
}
