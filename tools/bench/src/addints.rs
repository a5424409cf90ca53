// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench addints`: what the framework costs. A call that adds two integers is measured
//! through the framework (an AIDL service and its client, both on rsbinder) and raw (ioctls with as
//! many bytes).
use crate::cell::{output_of, parse, Cell, Length, Size};
use crate::comparison::{Comparison, Group, Repeat, Subject, COLUMNS};
use crate::daemon;
use crate::document::{Output, Part};
use crate::figures::Figures;
use crate::peer::Peer;
use crate::scheduling::SchedulingOptions;
use crate::table::number;
use anybinder_client::addints::aidl::{BpAddInts, IAddInts};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::mount::Mount;
use anybinder_mount::temporary::TemporaryInstance;
use anybinder_mount::{instance, interrupt};
use serde_json::json;
use std::process::{Child, ExitCode};

pub mod client;

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

    #[command(flatten)]
    output: Output,
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

fn measure_framework(mount: &Mount, arguments: &Arguments) -> Result<Figures> {
    let mut command = mount.own_command("addints-client")?;
    command
        .args(["--calls", &arguments.calls.to_string()])
        .args(["--delay-us", &arguments.delay_us.to_string()]);
    parse(&output_of(arguments.scheduling.as_client(&command))?)
}

/// The service process, killed when dropped.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure_at(context: &Context, mount: &Mount, arguments: &Arguments) -> Result<()> {
    let command = mount.own_command("demo-service")?;
    let mut command = arguments.scheduling.as_server(&command);
    daemon::die_with_parent(&mut command);
    let service = command
        .spawn()
        .doing(|| "starting the service".to_string())?;
    let _service = Service(service);
    let device = mount.file(RAW_DEVICE);
    let raw = Peer::plain("raw", "binder", Some(&device.to_string_lossy()))?;
    let scheduling = &arguments.scheduling;
    let subjects = vec![
        Subject::new("raw", |cell| raw.measure(cell, scheduling)),
        Subject::new("framework", |_| measure_framework(mount, arguments)),
    ];
    let cell = Cell {
        size: call_size(),
        length: Length::Calls(arguments.calls),
        delay_us: arguments.delay_us,
        ..Cell::default()
    };
    let mut all = Comparison::new(subjects, vec![Group::of(cell, 0..2)]);
    all.measure(Repeat::Rounds(arguments.rounds))?;
    all.check()?;
    show(context, &all, arguments)
}

fn show(context: &Context, all: &Comparison, arguments: &Arguments) -> Result<()> {
    let [(_, raw), (_, framework)] = &all.groups[0].rows[..] else {
        return Err(Error::new("Not both were measured."));
    };
    let share = raw.ratio(framework, Figures::p50_us).map(|raw| 1.0 - raw);
    let words = format!(
        "AddInts: {} rounds of {} calls; medians over the rounds (p99.9: over all calls)\n",
        arguments.rounds, arguments.calls
    );
    let document = json!({
        "calls": arguments.calls,
        "delay_us": arguments.delay_us,
        "rounds": arguments.rounds,
        "framework_share": share,
    });
    let mut figures = all.published("addints", document, words, all.table(&COLUMNS[..6], None));
    let percent = number(share.map(|share| share * 100.0), 0);
    let words = format!("the framework's share of a call (by p50): {percent} %");
    figures.parts.insert(2, Part::Words(words));
    figures.publish(context, &arguments.output)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    arguments.scheduling.apply()?;
    if arguments.here {
        let mount = &context.mount;
        instance::join(mount)?;
        mount.check_device("binder")?;
        mount.check_device(RAW_DEVICE)?;
        measure_at(context, mount, arguments)?;
    } else {
        let mut instance = TemporaryInstance::new("bench")?;
        instance.start(&format!("binder,{RAW_DEVICE}"))?;
        measure_at(context, &instance.mount, arguments)?;
        instance.stop()?;
    }
    Ok(ExitCode::SUCCESS)
}
