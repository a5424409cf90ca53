// SPDX-License-Identifier: Apache-2.0
//! `anybinder top`: the processes that have a device open, and the services, by what they do. It
//! compares samples of `binder_logs/stats` and `binder_logs/state`, which every driver has, and
//! takes latencies from the driver's events.
mod arguments;
mod columns;
pub mod rows;
pub mod sample;
mod screen;
mod service_rows;
mod terminal;
mod wrong;

use crate::command::observing::system::methods;
use crate::command::observing::system::past::Past;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::interrupt;
use anybinder_cli::output::say;
use anybinder_mount::context::Context;
pub use arguments::Arguments;
use arguments::Sort;
use columns::Layout;
use rows::Sample;
use sample::{Sampler, Wanted};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

fn no_process(arguments: &Arguments, wanted: &str) -> Error {
    match &arguments.from {
        Some(_) => Error::with_advice(
            format!("The recording has no process {wanted}, up to that time."),
            "See those that it has without --process.",
        ),
        None => Error::with_advice(
            format!("No process {wanted} has a device open."),
            "See those that have with `anybinder ps`.",
        ),
    }
}

fn no_service(arguments: &Arguments, wanted: &str) -> Error {
    let error = match &arguments.from {
        Some(_) => Error::with_advice(
            format!("The recording has no call of a service {wanted}, up to that time."),
            "See those that it has with --view services.",
        ),
        None => Error::with_advice(
            format!("No service is registered as {wanted}."),
            "See the registered ones with `anybinder list`.",
        ),
    };
    error.of(Kind::NoService)
}

/// Leaves in the sample what --process or --service names.
fn choose(sample: &mut Sample, arguments: &Arguments) -> Result<()> {
    if let Some(wanted) = &arguments.process {
        let found = sample.process(wanted).map(|row| row.pid);
        let Some(pid) = found else {
            return Err(no_process(arguments, wanted));
        };
        sample.processes.retain(|row| row.pid == pid);
        sample.services.retain(|row| row.pid == pid);
        sample.marks.retain(|mark| mark.pid == pid);
    }
    if let Some(wanted) = &arguments.service {
        let found = sample
            .service(wanted)
            .map(|row| (row.pid, row.name.clone()));
        let Some((pid, name)) = found else {
            return Err(no_service(arguments, wanted));
        };
        sample.services.retain(|row| row.name == name);
        sample.processes.retain(|row| row.pid == pid);
        sample.marks.retain(|mark| mark.pid == pid);
    }
    Ok(())
}

fn text(sample: &Sample, arguments: &Arguments) -> String {
    let layout = Layout::of(sample, width());
    let mut lines = match (sample.processes.first(), sample.services.first()) {
        (Some(row), _) if arguments.process.is_some() => {
            columns::process_details(sample, row, layout)
        }
        (_, Some(row)) if arguments.service.is_some() => columns::service_details(row, layout),
        _ => return columns::all(sample, arguments.view, layout).join("\n") + "\n",
    };
    lines.extend(columns::notes(sample));
    lines.join("\n") + "\n"
}

/// The columns that there are for a table.
fn width() -> usize {
    let is_terminal = std::io::stdout().is_terminal();
    let size = is_terminal.then(crossterm::terminal::size);
    match size {
        Some(Ok((columns, _))) => columns.into(),
        _ => {
            let columns = std::env::var("COLUMNS").ok();
            let columns = columns.and_then(|text| text.parse().ok());
            columns.unwrap_or(columns::WIDTH)
        }
    }
}

/// Whether a screen can be drawn on the terminal.
fn check_terminal() -> Result<()> {
    let refused = match std::env::var("TERM").as_deref() {
        _ if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() => {
            "Standard input and output are no terminal."
        }
        Ok("dumb" | "") | Err(_) => {
            "This terminal cannot place text on its screen (TERM is dumb or not set)."
        }
        Ok(_) => return Ok(()),
    };
    let advice = "For one table use `anybinder top --once`, for a script --json.";
    Err(Error::with_advice(refused, advice).of(Kind::Usage))
}

fn once(context: &Context, arguments: &Arguments, mut sampler: Sampler) -> Result<ExitCode> {
    let sample = sampler.sample_of(Duration::from_millis(arguments.interval_ms))?;
    drop(sampler);
    show(context, arguments, sample)
}

/// Samples as lines of JSON, until an interrupt or until nobody reads them.
fn stream(context: &Context, arguments: &Arguments, mut sampler: Sampler) -> Result<ExitCode> {
    if !context.json {
        return Err(Error::usage("--stream is for --json: programs read it."));
    }
    interrupt::defer();
    let interval = Duration::from_millis(arguments.interval_ms);
    loop {
        let mut sample = sampler.sample_of(interval)?;
        if interrupt::check().is_err() {
            return Ok(ExitCode::SUCCESS);
        }
        prepare(&mut sample, arguments)?;
        say(serde_json::to_string(&sample).expect("own types become JSON"));
    }
}

/// What a recording says.
fn past(context: &Context, arguments: &Arguments, path: &Path) -> Result<ExitCode> {
    if matches!(arguments.sort, Sort::Buffers | Sort::References) {
        return Err(Error::with_advice(
            format!("A recording has no {}.", arguments.sort.name()),
            "Order by something else, or look with `anybinder top` while the system runs.",
        )
        .of(Kind::Usage));
    }
    let past = Past::read(path)?;
    let interval = Duration::from_millis(arguments.interval_ms);
    let span = past.span(arguments.at, interval)?;
    let library = methods::library_or(&arguments.aidl, &past.aidl)?;
    let sample = sample::of_past(&past, &span, arguments.hanging_ms, library);
    show(context, arguments, sample)?;
    past.check_whole().map(|()| ExitCode::SUCCESS)
}

/// Leaves and orders what is asked for.
fn prepare(sample: &mut Sample, arguments: &Arguments) -> Result<()> {
    if let Some(word) = &arguments.filter {
        sample.filter(word);
    }
    columns::sort(sample, arguments.sort);
    choose(sample, arguments)
}

fn show(context: &Context, arguments: &Arguments, mut sample: Sample) -> Result<ExitCode> {
    prepare(&mut sample, arguments)?;
    context.show(&sample, |sample| {
        let _ = std::io::stdout().write_all(text(sample, arguments).as_bytes());
    });
    Ok(ExitCode::SUCCESS)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    if let Some(path) = &arguments.from {
        return past(context, arguments, path);
    }
    let is_once = arguments.once || context.json;
    if !is_once && !arguments.stream {
        check_terminal()?;
    }
    let wanted = Wanted {
        services: true,
        commands: true,
        latencies: true,
        is_lean: false,
    };
    let device = &arguments.device.device;
    let library = methods::library(&arguments.aidl)?;
    let mut sampler = Sampler::new(context, device, arguments.hanging_ms, &wanted, library)?;
    if arguments.stream {
        return stream(context, arguments, sampler);
    }
    if is_once {
        return once(context, arguments, sampler);
    }
    // A wrong name is told before the screen is taken.
    choose(&mut sampler.sample()?, arguments)?;
    screen::run(sampler, arguments)?;
    Ok(ExitCode::SUCCESS)
}
