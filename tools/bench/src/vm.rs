// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench vm`: drivers beside each other, each in an emulated machine of its own.
//!
//! What counts are instructions: with `--icount` an emulated machine has one processor and a clock
//! that advances by a nanosecond for each, so that the same run gives the same figures, whatever
//! else the host does. Round trips per second on two emulated processors are wall time, and mean
//! little by themselves: the drivers measure in turn, within seconds, when nothing else runs on the
//! host, until their ratio is known.
use crate::alloc::{self, Clients};
use crate::cell::{Cell, Length, Policy, Size};
use crate::comparison::{
    average_to_first, speed_to_first, Beside, Comparison, Group, Repeat, Subject, COLUMNS,
    INSTRUCTIONS,
};
use crate::document::Output;
use crate::heap::Rounds;
use crate::machine::{top, Machine, PREEMPTIBLE};
use crate::peer::{started_when_needed, Peer, Place};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::interrupt;
use serde_json::json;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Instructions of calls and of other operations, on one processor
    Count(Machines),
    /// Round trips per second on two processors, as ratios to the first driver
    Throughput(Arguments),
    /// How long an urgent caller waits while unrelated processes run, in each locking mode
    Inversion(InversionArguments),
    /// Urgent clients at a buffer allocator whose pages are being reclaimed
    Alloc(AllocArguments),
    /// Locks of the page pools of shared buffers
    Heap(HeapArguments),
}

/// The locking modes of the measuring build of the module.
const LOCKING_MODES: [&str; 3] = ["fine", "global", "global-nopreempt"];
const DRIVERS: [&str; 7] = [
    "stock",
    "module",
    "ref",
    "rust",
    LOCKING_MODES[0],
    LOCKING_MODES[1],
    LOCKING_MODES[2],
];
const DEVICE: &str = "/dev/binder";
const ICOUNT: [&str; 1] = ["--icount"];
/// How long a cell lasts on the clock that counts, for each pair.
const COUNT_TIME: Duration = Duration::from_millis(60);
const COUNT_PAIRS: [u32; 2] = [1, 4];
/// The share of the first driver's instructions that is the aim.
const TARGET: f64 = 0.8;

/// Peers of bench-ipc that are not plain calls, and how many operations each of their calls is.
const OPERATIONS: [(&str, &str, u32); 8] = [
    ("deferred", "call, the end of its reply deferred", 1),
    ("oneway", "one-way call, received", 2),
    ("object", "call, a new object in the reply, released", 1),
    ("handle", "call, a handle in it", 1),
    ("nested", "call, call back, two replies", 1),
    ("file", "call, a file in it, closed", 1),
    ("deaths", "death registered, delivered, acknowledged", 64),
    ("open", "open, map, close", 1),
];
/// Lower bounds of a call.
const FLOORS: [(&str, &str, u32); 2] = [
    ("pipe", "pipe, there and back", 1),
    ("futex", "futex, there and back", 1),
];

#[derive(Debug, clap::Args)]
pub struct Machines {
    /// A kernel of vm/kernels.tsv
    #[arg(long, value_name = "NAME", default_value = "6.12")]
    kernel: String,

    /// Drivers of vm/run, or locking modes of the module; the first is what the others are compared
    /// with
    #[arg(long, value_name = "DRIVER,...", value_delimiter = ',',
          default_value = "stock,module", value_parser = DRIVERS)]
    drivers: Vec<String>,

    /// Bytes of a call: both ways, or REQUEST/REPLY
    #[arg(
        long,
        value_name = "SIZE,...",
        value_delimiter = ',',
        default_value = "0,4k"
    )]
    sizes: Vec<Size>,

    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    machines: Machines,

    /// Number of clients, each with a server of its own
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,4,8,16",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pairs: Vec<u32>,

    /// How long each measurement lasts
    #[arg(long, value_name = "MS", default_value_t = 300)]
    duration_ms: u64,

    /// How many rounds, however far the figures are from being known
    #[arg(long, value_name = "COUNT")]
    rounds: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub struct InversionArguments {
    /// A kernel of vm/kernels.tsv
    #[arg(long, value_name = "NAME", default_value = "6.12")]
    kernel: String,

    /// Calls of the urgent caller in each locking mode
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    samples: u64,

    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
pub struct AllocArguments {
    /// Kernels of vm/kernels.tsv
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "6.1,6.12"
    )]
    kernels: Vec<String>,

    /// Drivers of vm/run
    #[arg(long, value_name = "DRIVER,...", value_delimiter = ',',
          default_value = "stock,module", value_parser = DRIVERS)]
    drivers: Vec<String>,

    #[command(flatten)]
    clients: Clients,
}

#[derive(Debug, clap::Args)]
pub struct HeapArguments {
    /// A kernel of vm/kernels.tsv
    #[arg(long, value_name = "NAME", default_value = "6.12")]
    kernel: String,

    #[command(flatten)]
    rounds: Rounds,
}

/// The options of vm/run that load a driver. The module has its device in /dev, as the stock driver
/// has, which knows no binderfs: `load` is the command for that.
fn options_of(driver: &str) -> Vec<String> {
    if !LOCKING_MODES.contains(&driver) {
        let loaded = if driver == "module" { "none" } else { driver };
        return ["--driver", loaded].map(String::from).into();
    }
    let mode = format!("locking={driver}");
    ["--driver", "module-locking", "--parameter", &mode]
        .map(String::from)
        .into()
}

/// The command that loads a module which was built for a kernel.
fn load(kernel: &str, module: &str, parameters: &str) -> Result<String> {
    let path = top()?.join("build/module").join(kernel).join(module);
    Ok(format!("insmod {} {parameters} && echo", path.display()))
}

/// Raw calls of a kind in a machine with this driver, after a command that prints a line.
fn boot(kernel: &str, driver: &str, more: &[&str], kind: &str, prepare: &str) -> Result<Peer> {
    let options = options_of(driver);
    let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
    words.extend(more);
    let mut machine = Machine::boot(&format!("{driver} {kernel}"), kernel, &words)?;
    if driver == "module" {
        machine.run(&load(kernel, "anybinder.ko", "devices=binder,hwbinder")?)?;
    }
    machine.run(prepare)?;
    let place = Place::Machine(Arc::new(Mutex::new(machine)));
    Ok(Peer::plain(driver, kind, Some(DEVICE))?.at(place))
}

fn subjects<'a>(machines: &'a Machines, more: &[&'a str]) -> Vec<Subject<'a>> {
    let drivers = machines.drivers.iter();
    let subject = |driver: &'a String| {
        let more = more.to_vec();
        let start = move || boot(&machines.kernel, driver, &more, "binder", "echo");
        started_when_needed(driver, start, Vec::new())
    };
    drivers.map(subject).collect()
}

/// A group for each size and number of pairs, whose cells last so long.
fn groups_of(machines: &Machines, pairs: &[u32], time: impl Fn(u32) -> Duration) -> Vec<Group> {
    Group::grid(&machines.sizes, pairs, machines.drivers.len(), |pairs| {
        Cell {
            length: Length::Duration(time(pairs)),
            ..Cell::default()
        }
    })
}

fn count(context: &Context, machines: &Machines) -> Result<()> {
    let mut groups = groups_of(machines, &COUNT_PAIRS, |pairs| COUNT_TIME * pairs);
    let with = |(kind, about, parts): (&'static str, &str, u32), drivers: usize| {
        let cell = Cell {
            kind: Some(kind),
            parts,
            length: Length::Duration(COUNT_TIME),
            ..Cell::default()
        };
        Group::new(about.to_string(), cell, 0..drivers)
    };
    groups.extend(OPERATIONS.map(|operation| with(operation, machines.drivers.len())));
    groups.extend(FLOORS.map(|floor| with(floor, 1)));
    let mut all = Comparison::emulated(subjects(machines, &ICOUNT), groups);
    all.measure(Repeat::Apart(1))?;
    let words = format!(
        "kernel {}: guest instructions, one processor; the last column: by those of {} (the aim: \
         {TARGET})\n",
        machines.kernel, all.subjects[0].peer
    );
    let beside: Beside = average_to_first;
    let table = all.table(&[INSTRUCTIONS], Some(("ratio".to_string(), beside)));
    let document = json!({ "kernel": machines.kernel });
    let figures = all.published("vm-count", document, words, table);
    figures.publish(context, &machines.output)?;
    all.check()
}

fn throughput(context: &Context, arguments: &Arguments) -> Result<()> {
    let machines = &arguments.machines;
    let repeat = arguments.rounds.map_or(Repeat::UntilKnown, Repeat::Rounds);
    let mut options = vec!["--smp", "2"];
    let mut drivers = machines.drivers.iter();
    // As Android's kernels are, on which the locking modes were compared.
    if drivers.any(|one| LOCKING_MODES.contains(&one.as_str())) {
        options.extend(PREEMPTIBLE);
    }
    let time = Duration::from_millis(arguments.duration_ms);
    let groups = groups_of(machines, &arguments.pairs, |_| time);
    let mut all = Comparison::emulated(subjects(machines, &options), groups);
    all.measure(repeat)?;
    let words = format!(
        "kernel {}, two processors: medians; the last column: calls/s by those of {} in the same \
         round,\nthe mean with its 95 % confidence interval\n",
        machines.kernel, all.subjects[0].peer
    );
    let beside: Beside = speed_to_first;
    let table = all.table(&COLUMNS[6..7], Some(("ratio".to_string(), beside)));
    let document = json!({
        "kernel": machines.kernel,
        "duration_ms": arguments.duration_ms,
    });
    let figures = all.published("vm-throughput", document, words, table);
    figures.publish(context, &machines.output)?;
    all.check()
}

/// Between two calls of the urgent caller. Not a fraction of the period of `spin`, so that calls
/// are made at all points of it.
const URGENT_PAUSE_US: u64 = 7300;
/// With an inversion the longest wait of the urgent caller is at least this many times longer.
const SHOWN_BY: f64 = 10.0;
/// Beside the urgent caller: a caller and its server at nice 19, with large payloads on a device of
/// their own, in a loop, so that nearly always one of them is inside the driver; and at FIFO 50
/// what uses the processor for most of each period. If the former hold a lock that the urgent
/// caller needs, it waits for them, and they for the end of a burst.
const BURSTS: [&str; 2] = [
    "call --peer binder --address /dev/hwbinder --request 65536 --class other:19 \
     --server-sched other:19 --duration-ms 600000",
    "call --peer spin --class fifo:50 --delay-us 3000 --duration-ms 600000",
];
const NO_THROTTLING: &str = "echo -1 >/proc/sys/kernel/sched_rt_runtime_us; echo";

fn priority(text: &str) -> Policy {
    text.parse().expect("a priority of this file")
}

fn inversion(context: &Context, arguments: &InversionArguments) -> Result<()> {
    let options = [&ICOUNT[..], &PREEMPTIBLE[..]].concat();
    let subjects = LOCKING_MODES.map(|mode| {
        let options = options.clone();
        let start = move || boot(&arguments.kernel, mode, &options, "binder", NO_THROTTLING);
        started_when_needed(mode, start, BURSTS.map(String::from).into())
    });
    let cell = Cell {
        length: Length::Calls(arguments.samples),
        delay_us: URGENT_PAUSE_US,
        classes: vec![priority("fifo:90")],
        servers: Some(priority("fifo:90")),
        is_disturbed: true,
        ..Cell::default()
    };
    let title = "an urgent caller".to_string();
    let group = Group::new(title, cell, 0..LOCKING_MODES.len());
    let mut all = Comparison::emulated(subjects.into(), vec![group]);
    all.measure(Repeat::Apart(1))?;
    all.check()?;
    let worst = all.rows().map(|(.., rounds)| rounds.durations().max_us());
    let worst: Vec<f64> = worst.collect();
    let [shown, left] = [worst[1] / worst[0], worst[2] / worst[0]];
    let words = format!(
        "kernel {}: {} calls in each locking mode\nat worst {shown:.1} times as long in global as \
         in fine (wanted: {SHOWN_BY}), {left:.1} times in global-nopreempt\n",
        arguments.kernel, arguments.samples
    );
    let table = all.table(&COLUMNS[..6], None);
    let document = json!({ "kernel": arguments.kernel, "worst_to_fine": [shown, left] });
    let figures = all.published("vm-inversion", document, words, table);
    figures.publish(context, &arguments.output)?;
    if shown < SHOWN_BY {
        return Err(Error::new("The inversion was not shown."));
    }
    Ok(())
}

/// The clock jumps to the next timer whenever the guest is idle, also while it waits for a file of
/// the host: on a busy host minutes pass for it while a program is loaded. Something that never
/// sleeps, of the lowest priority there is, makes its time a number of instructions.
const NEVER_IDLE: &str = "(while :; do :; done) & chrt --idle --pid 0 $! && echo";
/// Much more urgent than the least urgent client, so that a client preempted while it holds a lock
/// waits long for the processor.
const URGENT_LOAD: &str = "call --peer spin --class other:-10 --duration-ms 600000";

/// Stock 6.1 protects its buffer allocator with a mutex, stock 6.12 with a spinlock. All machines
/// have the same settings: one processor, a fully preemptible kernel, and the clock that counts.
/// File reads on the host take their own time, so no two rounds are the same, and a maximum is one
/// event of twenty thousand: there are several rounds.
fn alloc(context: &Context, arguments: &AllocArguments) -> Result<()> {
    let options = [&ICOUNT[..], &PREEMPTIBLE[..]].concat();
    let mut subjects = Vec::new();
    for kernel in &arguments.kernels {
        for driver in &arguments.drivers {
            let options = options.clone();
            let start = move || boot(kernel, driver, &options, "alloc", NEVER_IDLE);
            let beside = [URGENT_LOAD, alloc::RECLAIM].map(String::from);
            let name = format!("{driver} {kernel}");
            subjects.push(started_when_needed(&name, start, beside.into()));
        }
    }
    let groups = arguments
        .clients
        .groups(Some(priority("fifo:98")), subjects.len());
    let all = Comparison::emulated(subjects, groups);
    arguments.clients.compare(context, all)
}

/// The heap has a name that no kernel uses.
fn heap(context: &Context, arguments: &HeapArguments) -> Result<()> {
    let kernel = &arguments.kernel;
    let options = ["--driver", "none", "--memory", "2048", "--smp", "4"];
    let mut machine = Machine::boot("the machine of the heap", kernel, &options)?;
    machine.run(&load(kernel, "anybinder_heap.ko", "heaps=pooled")?)?;
    let place = Place::Machine(Arc::new(Mutex::new(machine)));
    let peer = Peer::plain("heap", "heap", Some("/dev/dma_heap/pooled"))?.at(place);
    arguments.rounds.compare(context, &peer)
}

pub fn run(context: &Context, command: &Command) -> Result<ExitCode> {
    interrupt::defer();
    match command {
        Command::Count(machines) => count(context, machines),
        Command::Throughput(arguments) => throughput(context, arguments),
        Command::Inversion(arguments) => inversion(context, arguments),
        Command::Alloc(arguments) => alloc(context, arguments),
        Command::Heap(arguments) => heap(context, arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}
