// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench addints`: a call that adds two integers, through the framework (an AIDL service
//! and its client, both on rsbinder) and raw (ioctls with as many bytes), so that the framework's
//! share shows.
use crate::cell::{measure, output_of, Cell, Length, SeatOptions, Size};
use crate::figures::{self, Figures, Rounds};
use crate::peer::binder_program;
use crate::picture::{self, Chart, Line};
use crate::progress::Progress;
use anybinder_client::addints::aidl::{BpAddInts, IAddInts};
use anybinder_client::device;
use anybinder_mount::context::Context;
use anybinder_mount::home::{self, Home};
use anybinder_mount::place::Place;
use anybinder_mount::trouble::{Doing, Result};
use anybinder_mount::{interrupt, namespace};
use serde_json::{json, Value};
use std::path::PathBuf;
use std::process::{Child, ExitCode};

const WAYS: [&str; 2] = ["raw", "framework"];
/// Where the raw calls go: its context manager is not taken by the service manager.
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

    /// How often either way is measured, in turn
    #[arg(long, value_name = "COUNT", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Measure what is up at --mount, instead of a daemon of its own
    #[arg(long)]
    here: bool,

    #[command(flatten)]
    seats: SeatOptions,

    /// Directory for addints.json and addints.svg
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// What the AIDL call weighs: the header with the interface's name in UTF-16, two integers; back
/// come a status and an integer.
fn call_size() -> Size {
    let name_bytes = 2 * (<BpAddInts as IAddInts>::descriptor().len() as u64 + 1);
    Size {
        request_bytes: 16 + name_bytes.next_multiple_of(4) + 8,
        reply_bytes: 8,
    }
}

fn measure_raw(place: &Place, arguments: &Arguments) -> Result<Figures> {
    let cell = Cell {
        pairs: 1,
        size: call_size(),
        length: Length::Calls(arguments.calls),
        delay_us: arguments.delay_us,
    };
    let device = place.device(RAW_DEVICE);
    let address = device.to_string_lossy();
    measure(
        &binder_program()?,
        "binder",
        Some(&address),
        &cell,
        &arguments.seats,
    )
}

fn measure_framework(place: &Place, arguments: &Arguments) -> Result<Figures> {
    let mut command = home::role(place, "addints-client")?;
    command
        .args(["--calls", &arguments.calls.to_string()])
        .args(["--delay-us", &arguments.delay_us.to_string()]);
    arguments.seats.seat_client(&mut command);
    let text = output_of(command)?;
    serde_json::from_str(&text).doing(|| "reading the client's figures".to_string())
}

fn measure_all(place: &Place, arguments: &Arguments) -> Result<[Rounds; 2]> {
    let mut all = [Rounds::default(), Rounds::default()];
    let mut progress = Progress::new(u64::from(arguments.rounds) * 2);
    for round in 0..arguments.rounds {
        let ways: [fn(&Place, &Arguments) -> Result<Figures>; 2] = [measure_raw, measure_framework];
        for ((name, way), rounds) in WAYS.iter().zip(ways).zip(&mut all) {
            interrupt::check()?;
            progress.at(format!("round {}: {name}", round + 1));
            rounds.figures.push((round, way(place, arguments)?));
            progress.step();
        }
    }
    Ok(all)
}

/// The service, ended when dropped.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure_at(place: &Place, arguments: &Arguments) -> Result<[Rounds; 2]> {
    let mut command = home::role(place, "demo-service")?;
    crate::daemon::die_with_parent(&mut command);
    arguments.seats.seat_server(&mut command);
    let service = command
        .spawn()
        .doing(|| "starting the service".to_string())?;
    let _service = Service(service);
    measure_all(place, arguments)
}

fn document(all: &[Rounds; 2], share: Option<f64>, arguments: &Arguments) -> Result<Value> {
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
        "machine": crate::machine(),
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

fn draw(all: &[Rounds; 2], path: &std::path::Path) -> Result<()> {
    let mut lines = Vec::new();
    for (name, rounds) in WAYS.iter().zip(all) {
        lines.push(Line {
            name: name.to_string(),
            points: picture::tail_points(figures::curve(&rounds.histogram()?)),
        });
    }
    let chart = Chart {
        title: "AddInts: duration of a call".to_string(),
        x: "share of calls",
        y: "us",
        ticks: picture::tail_ticks(),
        lines,
    };
    picture::draw(path, &[chart], 1, &WAYS.map(String::from))
        .doing(|| format!("drawing {}", path.display()))
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::outlive();
    arguments.seats.take()?;
    let all = if arguments.here {
        if let Some(note) = context.place.note() {
            namespace::join(&note)?;
        }
        device::check_device(&context.place, "binder")?;
        device::check_device(&context.place, RAW_DEVICE)?;
        measure_at(&context.place, arguments)?
    } else {
        let mut home = Home::new("bench")?;
        home.bring_up(&format!("binder,{RAW_DEVICE}"))?;
        let all = measure_at(&home.place, arguments)?;
        home.take_down()?;
        all
    };
    let raw_part = all[0].ratio(&all[1], |one| one.p50_us);
    let share = raw_part.map(|part| 1.0 - part);
    let document = document(&all, share, arguments)?;
    if let Some(directory) = &arguments.output {
        crate::save_json(directory, "addints.json", &document)?;
        draw(&all, &directory.join("addints.svg"))?;
    }
    if context.json {
        context.show(&document, |_| {});
    } else {
        print_table(&all, share, arguments)?;
    }
    Ok(ExitCode::SUCCESS)
}
