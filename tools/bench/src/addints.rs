// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench addints`: what the framework costs. A call that adds two integers is measured
//! through the framework (an AIDL service and its client, both on rsbinder) and raw (ioctls with as
//! many bytes).
use crate::cell::{measure, output_of, Cell, Length, Size};
use crate::chart::{self, Chart, Line};
use crate::daemon;
use crate::document;
use crate::figures::{self, Figures, Rounds};
use crate::peer::binder_program;
use crate::progress::Progress;
use crate::scheduling::SchedulingOptions;
use anybinder_client::addints::aidl::{BpAddInts, IAddInts};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Result};
use anybinder_mount::mount::Mount;
use anybinder_mount::temporary::TemporaryInstance;
use anybinder_mount::{instance, interrupt};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode};

pub mod client;

const WAYS: [&str; 2] = ["raw", "framework"];
/// The device of the raw calls, which has no service manager.
const RAW_DEVICE: &str = "hwbinder";

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Calls of a round
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(1..))]
    calls: u64,

    /// Pause between calls in us, not measured
    #[arg(short = 'd', long, value_name = "US", default_value_t = 0)]
    delay_us: u64,

    /// How often each of the two is measured, in turn
    #[arg(long, value_name = "COUNT", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Measure what is mounted at --mount, instead of a daemon of its own
    #[arg(long)]
    here: bool,

    #[command(flatten)]
    scheduling: SchedulingOptions,

    /// Directory for addints.json and addints.svg
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// The size of the AIDL call: a header with the name of the interface in UTF-16, and two integers;
/// the reply is a status and an integer.
fn call_size() -> Size {
    let name_bytes = 2 * (<BpAddInts as IAddInts>::descriptor().len() as u64 + 1);
    Size {
        request_bytes: 16 + name_bytes.next_multiple_of(4) + 8,
        reply_bytes: 8,
    }
}

fn measure_raw(mount: &Mount, arguments: &Arguments) -> Result<Figures> {
    let cell = Cell {
        pairs: 1,
        size: call_size(),
        length: Length::Calls(arguments.calls),
        delay_us: arguments.delay_us,
        measured: 0,
    };
    let device = mount.file(RAW_DEVICE);
    let address = device.to_string_lossy();
    measure(
        &binder_program()?,
        "binder",
        Some(&address),
        &cell,
        &arguments.scheduling,
    )
}

fn measure_framework(mount: &Mount, arguments: &Arguments) -> Result<Figures> {
    let mut command = mount.own_command("addints-client")?;
    command
        .args(["--calls", &arguments.calls.to_string()])
        .args(["--delay-us", &arguments.delay_us.to_string()]);
    arguments.scheduling.apply_to_client(&mut command);
    let text = output_of(command)?;
    serde_json::from_str(&text).doing(|| "reading the client's figures".to_string())
}

fn measure_all(mount: &Mount, arguments: &Arguments) -> Result<[Rounds; 2]> {
    let mut all = [Rounds::default(), Rounds::default()];
    let mut progress = Progress::new(u64::from(arguments.rounds) * 2);
    for round in 0..arguments.rounds {
        let ways: [fn(&Mount, &Arguments) -> Result<Figures>; 2] = [measure_raw, measure_framework];
        for ((name, way), rounds) in WAYS.iter().zip(ways).zip(&mut all) {
            interrupt::check()?;
            progress.at(format!("round {}: {name}", round + 1));
            rounds.figures.push((round, way(mount, arguments)?));
            progress.step();
        }
    }
    Ok(all)
}

/// The service process, killed when dropped.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure_at(mount: &Mount, arguments: &Arguments) -> Result<[Rounds; 2]> {
    let mut command = mount.own_command("demo-service")?;
    daemon::die_with_parent(&mut command);
    arguments.scheduling.apply_to_server(&mut command);
    let service = command
        .spawn()
        .doing(|| "starting the service".to_string())?;
    let _service = Service(service);
    measure_all(mount, arguments)
}

fn document_of(all: &[Rounds; 2], share: Option<f64>, arguments: &Arguments) -> Result<Value> {
    let mut ways = Vec::new();
    for (name, rounds) in WAYS.iter().zip(all) {
        let histogram = rounds.histogram()?;
        ways.push(json!({
            "way": name,
            "quantiles": figures::quantiles(&histogram),
            "distribution": figures::curve(&histogram),
            "rounds": rounds.figures.iter().map(|(number, one)| json!({
                "round": number, "calls": one.calls, "min_us": one.min_us, "avg_us": one.avg_us,
                "p50_us": one.p50_us, "p99_us": one.p99_us, "max_us": one.max_us,
            })).collect::<Vec<_>>(),
        }));
    }
    Ok(json!({
        "bench": "addints",
        "machine": document::machine(),
        "calls": arguments.calls,
        "delay_us": arguments.delay_us,
        "rounds": arguments.rounds,
        "request_bytes": call_size().request_bytes,
        "reply_bytes": call_size().reply_bytes,
        "ways": ways,
        "framework_share": share,
    }))
}

fn print_table(all: &[Rounds; 2], share: Option<f64>, arguments: &Arguments) -> Result<()> {
    println!(
        "AddInts: {} rounds of {} calls; us per call, medians over the rounds \
         (p99.9: over all calls)",
        arguments.rounds, arguments.calls
    );
    println!(
        "{:10}{:>9}{:>9}{:>10}{:>9}{:>9}{:>10}",
        "", "min", "avg", "max", "p50", "p99", "p99.9"
    );
    for (name, rounds) in WAYS.iter().zip(all) {
        let median = |figure: fn(&Figures) -> f64| {
            rounds.median(|one| Some(figure(one))).unwrap_or_default()
        };
        println!(
            "{name:10}{:>9.1}{:>9.1}{:>10.1}{:>9.1}{:>9.1}{:>10.1}",
            median(|one| one.min_us),
            median(|one| one.avg_us),
            median(|one| one.max_us),
            median(|one| one.p50_us),
            median(|one| one.p99_us),
            rounds.histogram()?.value_at_quantile(0.999) as f64 / 1000.0,
        );
    }
    if let Some(share) = share {
        println!(
            "the framework's share of a call (by p50): {:.0} %",
            share * 100.0
        );
    }
    Ok(())
}

fn draw(all: &[Rounds; 2], path: &Path) -> chart::Outcome {
    let mut lines = Vec::new();
    for (name, rounds) in WAYS.iter().zip(all) {
        lines.push(Line {
            bars: Vec::new(),
            name: name.to_string(),
            points: chart::tail_points(figures::curve(&rounds.histogram()?)),
        });
    }
    let chart = Chart {
        title: "AddInts: duration of a call".to_string(),
        x: "share of calls",
        y: "us",
        ticks: chart::tail_ticks(),
        lines,
    };
    chart::draw(path, &[chart], 1, &WAYS.map(String::from), &[])
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    arguments.scheduling.apply()?;
    let all = if arguments.here {
        let mount = &context.mount;
        instance::join(mount)?;
        mount.check_device("binder")?;
        mount.check_device(RAW_DEVICE)?;
        measure_at(mount, arguments)?
    } else {
        let mut instance = TemporaryInstance::new("bench")?;
        instance.start(&format!("binder,{RAW_DEVICE}"))?;
        let all = measure_at(&instance.mount, arguments)?;
        instance.stop()?;
        all
    };
    let raw_share = all[0].ratio(&all[1], |one| one.p50_us);
    let share = raw_share.map(|raw| 1.0 - raw);
    let document = document_of(&all, share, arguments)?;
    document::publish(
        context,
        arguments.output.as_deref(),
        "addints",
        &document,
        |path| draw(&all, path),
        || print_table(&all, share, arguments),
    )?;
    Ok(ExitCode::SUCCESS)
}
