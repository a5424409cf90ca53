// SPDX-License-Identifier: Apache-2.0
//! `anybinder top`: the processes that have a device open, and the services, by what they do. It
//! compares samples of `binder_logs/stats` and `binder_logs/state`, which every driver has, and
//! takes latencies from the driver's events.
mod arguments;
mod rows;
mod sample;
mod screen;
mod table;

use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Kind, Result};
pub use arguments::Arguments;
use rows::Sample;
use sample::Sampler;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Leaves in the sample what --process or --service names.
fn choose(sample: &mut Sample, arguments: &Arguments) -> Result<()> {
    if let Some(wanted) = &arguments.process {
        let found = sample.process(wanted).map(|row| row.pid);
        let Some(pid) = found else {
            return Err(Error::with_advice(
                format!("No process {wanted} has a device open."),
                "See those that have with `anybinder ps`.",
            ));
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
            return Err(Error::with_advice(
                format!("No service is registered as {wanted}."),
                "See the registered ones with `anybinder list`.",
            )
            .of(Kind::NoService));
        };
        sample.services.retain(|row| row.name == name);
        sample.processes.retain(|row| row.pid == pid);
        sample.marks.retain(|mark| mark.pid == pid);
    }
    Ok(())
}

fn text(sample: &Sample, arguments: &Arguments) -> String {
    let mut lines = match (sample.processes.first(), sample.services.first()) {
        (Some(row), _) if arguments.process.is_some() => table::process_details(sample, row),
        (_, Some(row)) if arguments.service.is_some() => table::service_details(row),
        _ => return table::all(sample, arguments.view).join("\n") + "\n",
    };
    lines.extend(table::notes(sample));
    lines.join("\n") + "\n"
}

fn once(context: &Context, arguments: &Arguments, mut sampler: Sampler) -> Result<ExitCode> {
    std::thread::sleep(Duration::from_millis(arguments.interval_ms));
    let mut sample = sampler.sample()?;
    drop(sampler);
    if let Some(word) = &arguments.filter {
        sample.filter(word);
    }
    table::sort(&mut sample, arguments.sort);
    choose(&mut sample, arguments)?;
    context.show(&sample, |sample| {
        let _ = std::io::stdout().write_all(text(sample, arguments).as_bytes());
    });
    Ok(ExitCode::SUCCESS)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let is_once = arguments.once || context.json;
    if !is_once && (!std::io::stdout().is_terminal() || !std::io::stdin().is_terminal()) {
        return Err(Error::with_advice(
            "Standard input and output are no terminal.",
            "For a script use `anybinder top --once`, or --json.",
        )
        .of(Kind::Usage));
    }
    let mut sampler = Sampler::new(context, &arguments.device.device, arguments.hanging_ms)?;
    if is_once {
        return once(context, arguments, sampler);
    }
    // A wrong name is told before the screen is taken.
    choose(&mut sampler.sample()?, arguments)?;
    screen::run(sampler, arguments)?;
    Ok(ExitCode::SUCCESS)
}
