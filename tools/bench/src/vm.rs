// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench vm`: drivers beside each other, each in an emulated machine of its own.
//!
//! What counts are instructions: with `--icount` an emulated machine has one processor and a clock
//! that advances by a nanosecond for each, so that the same run gives the same figures, whatever
//! else the host does. Round trips per second on two emulated processors are wall time, and mean
//! little by themselves: the drivers measure in turn, within seconds, when nothing else runs on the
//! host, until their ratio is known.
use crate::cell::{Cell, Length, Operation, Size};
use crate::comparison::{
    average_to_first, speed_to_first, Beside, Comparison, Group, Repeat, Subject, COLUMNS,
    INSTRUCTIONS,
};
use crate::document::Output;
use crate::figures::Figures;
use crate::machine::{top, Machine, PREEMPTIBLE};
use crate::peer::{binder_program, Peer};
use crate::scheduling::SchedulingOptions;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::interrupt;
use serde_json::json;
use std::cell::OnceCell;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

mod alloc;
mod heap;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Instructions of calls and of other operations, on one processor
    Count(Arguments),
    /// Round trips per second on two processors, as ratios to the first driver
    Throughput(Arguments),
    /// How long an urgent caller waits while unrelated processes run, in each locking mode
    Inversion(InversionArguments),
    /// Urgent clients at a buffer allocator whose pages are being reclaimed
    Alloc(alloc::Arguments),
    /// Locks of the page pools of shared buffers
    Heap(heap::Arguments),
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
/// How long a cell lasts on the clock that counts, for each pair.
const COUNT_TIME: Duration = Duration::from_millis(60);
/// The share of the first driver's instructions that is the aim.
const TARGET: f64 = 0.8;

const OPERATIONS: [Operation; 7] = [
    operation("oneway", "one-way call, received", 2),
    operation("object", "call, a new object in the reply, released", 1),
    operation("handle", "call, a handle in it", 1),
    operation("nested", "call, call back, two replies", 1),
    operation("file", "call, a file in it, closed", 1),
    operation("deaths", "death registered, delivered, acknowledged", 64),
    operation("open", "open, map, close", 1),
];
/// Lower bounds of a call.
const FLOORS: [Operation; 2] = [
    operation("pipe", "pipe, there and back", 1),
    operation("futex", "futex, there and back", 1),
];

const fn operation(kind: &'static str, about: &'static str, parts: u32) -> Operation {
    Operation {
        kind: Some(kind),
        about,
        parts,
    }
}

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
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("pairs", |arg| arg.help("Number of clients, each with a server of its own")))]
pub struct Arguments {
    #[command(flatten)]
    machines: Machines,

    /// [default: count 1,4; throughput 1,2,4,8,16]
    #[arg(long, value_name = "N,...", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pairs: Vec<u32>,

    /// Bytes of a call: both ways, or REQUEST/REPLY
    #[arg(
        long,
        value_name = "SIZE,...",
        value_delimiter = ',',
        default_value = "0,4k"
    )]
    sizes: Vec<Size>,

    /// throughput: how long each measurement lasts
    #[arg(long, value_name = "MS", default_value_t = 300)]
    duration_ms: u64,

    /// throughput: one processor whose clock counts instructions; each driver measures once
    #[arg(long)]
    icount: bool,

    /// throughput: so many rounds, however far the figures are from being known
    #[arg(long, value_name = "COUNT")]
    rounds: Option<u32>,

    #[command(flatten)]
    output: Output,
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

/// The options of vm/run that load a driver. The module has its device in /dev, as the stock driver
/// has, which knows no binderfs: `load` is the command for that.
fn options_of(driver: &str) -> Vec<String> {
    let module = ["--driver", "module-locking", "--parameter"].map(String::from);
    match LOCKING_MODES.contains(&driver) {
        true => module
            .into_iter()
            .chain([format!("locking={driver}")])
            .collect(),
        false if driver == "module" => ["--driver", "none"].map(String::from).to_vec(),
        false => ["--driver", driver].map(String::from).to_vec(),
    }
}

/// The command that loads the module; None for other drivers.
fn load(kernel: &str, driver: &str) -> Result<Option<String>> {
    let module = top()?
        .join("build/module")
        .join(kernel)
        .join("anybinder.ko");
    let command = format!(
        "insmod {} devices=binder,hwbinder && echo",
        module.display()
    );
    Ok((driver == "module").then_some(command))
}

fn boot(kernel: &str, driver: &str, more: &[&str]) -> Result<Arc<Mutex<Machine>>> {
    let options = options_of(driver);
    let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
    words.extend(more);
    let mut machine = Machine::boot(&format!("{driver} {kernel}"), kernel, &words)?;
    if let Some(command) = load(kernel, driver)? {
        machine.run(&command)?;
    }
    Ok(Arc::new(Mutex::new(machine)))
}

/// Raw calls in a machine with this driver, which is booted when it is first needed.
///
/// * `more`: options of vm/run
/// * `prepare`: a command that runs first
fn subject(
    kernel: &str,
    driver: &str,
    more: &[&str],
    prepare: Option<String>,
    scheduling: SchedulingOptions,
) -> Subject<'static> {
    let (kernel, name) = (kernel.to_string(), driver.to_string());
    let more: Vec<String> = more.iter().map(ToString::to_string).collect();
    let booted: OnceCell<Peer> = OnceCell::new();
    Subject::new(driver, move |cell| {
        if booted.get().is_none() {
            let more: Vec<&str> = more.iter().map(String::as_str).collect();
            let machine = boot(&kernel, &name, &more)?;
            if let Some(command) = &prepare {
                let mut machine = machine.lock().expect("nobody panics in a machine");
                machine.run(command)?;
            }
            let peer = Peer::plain(&name, "binder", Some(DEVICE))?;
            let _ = booted.set(peer.inside(&machine));
        }
        let peer = booted.get().expect("set above");
        peer.measure(cell, &scheduling)
    })
}

fn subjects(machines: &Machines, more: &[&str]) -> Vec<Subject<'static>> {
    let plain = SchedulingOptions::default();
    let drivers = machines.drivers.iter();
    drivers
        .map(|driver| subject(&machines.kernel, driver, more, None, plain.clone()))
        .collect()
}

/// A group for each size and number of pairs.
fn groups_of(
    arguments: &Arguments,
    pairs: &[u32],
    time: fn(&Arguments, u32) -> Duration,
) -> Vec<Group> {
    let given = if arguments.pairs.is_empty() {
        pairs
    } else {
        &arguments.pairs
    };
    let mut groups = Vec::new();
    for size in &arguments.sizes {
        for pairs in given {
            let cell = Cell {
                pairs: *pairs,
                size: *size,
                length: Length::Duration(time(arguments, *pairs)),
                ..Cell::default()
            };
            groups.push(Group::of(cell, 0..arguments.machines.drivers.len()));
        }
    }
    groups
}

fn count(context: &Context, arguments: &Arguments) -> Result<()> {
    let mut groups = groups_of(arguments, &[1, 4], |_, pairs| COUNT_TIME * pairs);
    let with = |operation: Operation, subjects: std::ops::Range<usize>| {
        let cell = Cell {
            operation,
            length: Length::Duration(COUNT_TIME),
            ..Cell::default()
        };
        Group::new(operation.about.to_string(), cell, subjects)
    };
    let drivers = arguments.machines.drivers.len();
    groups.extend(OPERATIONS.map(|operation| with(operation, 0..drivers)));
    groups.extend(FLOORS.map(|floor| with(floor, 0..1)));
    let mut all = Comparison::emulated(subjects(&arguments.machines, &["--icount"]), groups);
    all.measure(Repeat::Once)?;
    let average = |one: &Figures| one.durations().avg_us();
    let rows = all.groups.iter();
    let ratios: Vec<f64> = rows
        .flat_map(|group| {
            let (_, first) = &group.rows[0];
            group.rows[1..]
                .iter()
                .filter_map(move |(_, one)| one.ratio(first, average))
        })
        .collect();
    let met = ratios.iter().filter(|ratio| **ratio <= TARGET).count();
    let words = format!(
        "kernel {}: guest instructions, one processor; the last column: by those of {}\n\
         {met} of {} counts are at most {TARGET} of them\n",
        arguments.machines.kernel,
        all.subjects[0].peer,
        ratios.len()
    );
    let beside: Beside = average_to_first;
    let table = all.table(&[INSTRUCTIONS], Some(("ratio".to_string(), beside)));
    let document = json!({ "kernel": arguments.machines.kernel, "met": met });
    let figures = all.published("vm-count", document, words, table);
    figures.publish(context, &arguments.output)?;
    all.check()
}

fn throughput(context: &Context, arguments: &Arguments) -> Result<()> {
    let (options, repeat, setting): (&[&str], _, _) = match arguments.icount {
        true => (
            &["--icount"],
            Repeat::Once,
            "one processor, instructions as time",
        ),
        false => (&["--smp", "2"], Repeat::UntilKnown, "two processors"),
    };
    let repeat = arguments.rounds.map_or(repeat, Repeat::Rounds);
    let mut options = options.to_vec();
    // As Android's kernels are, on which the locking modes were compared.
    if arguments
        .machines
        .drivers
        .iter()
        .any(|one| LOCKING_MODES.contains(&one.as_str()))
    {
        options.extend(PREEMPTIBLE);
    }
    let groups = groups_of(arguments, &[1, 2, 4, 8, 16], |arguments, _| {
        Duration::from_millis(arguments.duration_ms)
    });
    let mut all = Comparison::emulated(subjects(&arguments.machines, &options), groups);
    all.measure(repeat)?;
    let words = format!(
        "kernel {}, {setting}: medians; the last column: calls/s by those of {} in the same \
         round,\nthe mean with its 95 % confidence interval\n",
        arguments.machines.kernel, all.subjects[0].peer
    );
    let beside: Beside = match arguments.icount {
        true => |first, this| {
            let ratio = this.ratio(first, Figures::calls_per_s);
            crate::table::number(ratio, 2)
        },
        false => speed_to_first,
    };
    let table = all.table(&COLUMNS[6..7], Some(("ratio".to_string(), beside)));
    let document = json!({
        "kernel": arguments.machines.kernel,
        "icount": arguments.icount,
        "duration_ms": arguments.duration_ms,
    });
    let figures = all.published("vm-throughput", document, words, table);
    figures.publish(context, &arguments.output)?;
    all.check()
}

/// Between two calls of the urgent caller. Not a fraction of the period of `spin`, so that calls
/// are made at all points of it.
const URGENT_PAUSE_US: u64 = 7300;
/// With an inversion the longest wait of the urgent caller is at least this many times longer.
const SHOWN_BY: f64 = 10.0;

/// Starts what runs beside the urgent caller: a caller and its server at nice 19, with large
/// payloads on a device of their own, in a loop, so that nearly always one of them is inside the
/// driver; and at FIFO 50 what uses the processor for most of each period. If the former hold a
/// lock that the urgent caller needs, it waits for them, and they for the end of a burst.
fn disturb() -> Result<String> {
    let program = binder_program()?;
    let background = |words: &str| {
        format!(
            "{} call --duration-ms 600000 {words} >/dev/null 2>&1 & ",
            program.display()
        )
    };
    Ok(
        "echo -1 >/proc/sys/kernel/sched_rt_runtime_us; ".to_string()
            + &background(
                "--peer binder --address /dev/hwbinder --request 65536 --client-sched other:19 \
             --server-sched other:19",
            )
            + &background("--peer spin --client-sched fifo:50 --delay-us 3000")
            + "sleep 2; echo",
    )
}

fn inversion(context: &Context, arguments: &InversionArguments) -> Result<()> {
    let urgent = Some("fifo:90".parse().map_err(Error::new)?);
    let scheduling = SchedulingOptions {
        client_sched: urgent.clone(),
        server_sched: urgent,
        ..SchedulingOptions::default()
    };
    let prepare = disturb()?;
    let options = [&["--icount"], &PREEMPTIBLE[..]].concat();
    let subjects = LOCKING_MODES.map(|mode| {
        let prepare = Some(prepare.clone());
        subject(
            &arguments.kernel,
            mode,
            &options,
            prepare,
            scheduling.clone(),
        )
    });
    let cell = Cell {
        length: Length::Calls(arguments.samples),
        delay_us: URGENT_PAUSE_US,
        ..Cell::default()
    };
    let title = "an urgent caller".to_string();
    let group = Group::new(title, cell, 0..LOCKING_MODES.len());
    let mut all = Comparison::emulated(subjects.into(), vec![group]);
    all.measure(Repeat::Once)?;
    all.check()?;
    let worst = all.rows().map(|(.., rounds)| rounds.durations().max_us());
    let worst: Vec<f64> = worst.collect();
    let [shown, left] = [worst[1] / worst[0], worst[2] / worst[0]];
    let verdict = if shown >= SHOWN_BY {
        "shown"
    } else {
        "NOT shown"
    };
    let words = format!(
        "kernel {}: {} calls in each locking mode\nat worst {shown:.1} times as long in global as \
         in fine (inversion {verdict}: wanted at least {SHOWN_BY}),\n{left:.1} times in \
         global-nopreempt\n",
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

pub fn run(context: &Context, command: &Command) -> Result<ExitCode> {
    interrupt::defer();
    match command {
        Command::Count(arguments) => count(context, arguments),
        Command::Throughput(arguments) => throughput(context, arguments),
        Command::Inversion(arguments) => inversion(context, arguments),
        Command::Alloc(arguments) => alloc::run(context, arguments),
        Command::Heap(arguments) => heap::run(arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}
