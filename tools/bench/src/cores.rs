// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench cores`: what more processors bring, and where their time goes.
//!
//! The same pairs of clients and servers run on one core, on all cores as the scheduler places
//! them, and apart: on each core a daemon of its own with its share of the pairs, all bound to
//! that core, which is what the machine could do if no call left its core. Beside the calls per
//! second stand the processor time of a call and, from the scheduler's trace events, the wake-ups
//! that it took and how many of them went to another core. Those counts come from a run of their
//! own, since tracing takes time.
use crate::cell::{Cell, Length, Size};
use crate::daemon::{self, Scratch};
use crate::document;
use crate::peer::{self, Compared, Peer};
use crate::progress::Progress;
use crate::scheduling::{CpuList, SchedulingOptions};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
use serde_json::{json, Value};
use std::process::ExitCode;
use std::time::Duration;

mod account;
mod idle;
mod row;
mod table;

use account::{Account, Counts};
use idle::Idle;
use row::{Round, Row};

#[derive(Debug, clap::Args)]
#[command(mut_arg("peers", |arg| {
    arg.default_value("binder").help("Peers to measure; an unknown name lists them")
}))]
#[command(mut_arg("pairs", |arg| arg.default_value("1,4")))]
pub struct Arguments {
    #[command(flatten)]
    compared: Compared,

    /// Bytes of a call: both ways, or REQUEST/REPLY
    #[arg(long, value_name = "SIZE", default_value = "0")]
    size: Size,

    /// How long each measurement lasts
    #[arg(long, value_name = "MS", default_value_t = 200,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    duration_ms: u64,

    /// How often each measurement is made, in turn with all others
    #[arg(long, value_name = "COUNT", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Directory for cores.json and cores.svg
    #[arg(long, value_name = "DIR")]
    output: Option<std::path::PathBuf>,
}

/// Processors, and the daemons that run on them.
struct Part {
    ends: SchedulingOptions,
    peers: Vec<Peer>,
    /// Of the daemons: removed after they have ended.
    _scratch: Scratch,
}

/// Where everything runs.
struct Placement {
    name: &'static str,
    cpus: Vec<usize>,
    parts: Vec<Part>,
}

fn list_of(cpus: &[usize]) -> CpuList {
    let names: Vec<String> = cpus.iter().map(usize::to_string).collect();
    names.join(",").parse().expect("numbers with commas")
}

/// The processors that this thread may use.
fn usable() -> Result<CpuSet> {
    sched_getaffinity(None).doing(|| "asking for the usable processors".to_string())
}

/// Starts the peers; their daemons may use these processors only.
///
/// * `directory`: the name of their directory
fn start_part(
    arguments: &Arguments,
    scratch: &Scratch,
    directory: &str,
    cpus: &[usize],
) -> Result<Part> {
    let list = list_of(cpus);
    let before = usable()?;
    let bound = SchedulingOptions {
        cpu: Some(list.clone()),
        ..SchedulingOptions::default()
    };
    let scratch = Scratch(scratch.subdirectory(directory)?);
    bound.apply()?;
    let peers = peer::start(
        &arguments.compared.peers,
        &arguments.compared.device,
        &scratch,
        |_, _| {},
    );
    sched_setaffinity(None, &before).doing(|| "using all processors again".to_string())?;
    Ok(Part {
        ends: SchedulingOptions {
            client_cpu: Some(list.clone()),
            server_cpu: Some(list),
            ..SchedulingOptions::default()
        },
        peers: peers?,
        _scratch: scratch,
    })
}

fn start_all(arguments: &Arguments, scratch: &Scratch) -> Result<Vec<Placement>> {
    let set = usable()?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect();
    if cpus.len() < 2 {
        return Err(Error::with_advice(
            "There is only one core, so nothing can be compared.",
            "`taskset -p $$` shows the cores that this shell may use.",
        ));
    }
    let each = cpus
        .iter()
        .map(|cpu| start_part(arguments, scratch, &format!("apart-{cpu}"), &[*cpu]));
    Ok(vec![
        Placement {
            name: "one core",
            cpus: cpus[..1].to_vec(),
            parts: vec![start_part(arguments, scratch, "one", &cpus[..1])?],
        },
        Placement {
            name: "all cores",
            cpus: cpus.clone(),
            parts: vec![start_part(arguments, scratch, "all", &cpus)?],
        },
        Placement {
            name: "apart",
            cpus: cpus.clone(),
            parts: each.collect::<Result<_>>()?,
        },
    ])
}

/// Measures once, all parts at the same time. Returns the calls, too.
fn measure_once(placement: &Placement, peer: usize, cell: &Cell) -> Result<(Round, f64)> {
    let count = placement.parts.len() as u32;
    let idle = Idle::begin(&placement.cpus);
    let measured: Vec<Result<_>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| (number, (cell.pairs + count - 1 - number) / count))
            .filter(|(_, pairs)| *pairs > 0)
            .map(|(number, pairs)| {
                let part = &placement.parts[number as usize];
                let cell = Cell {
                    pairs,
                    ..cell.clone()
                };
                scope.spawn(move || part.peers[peer].measure(&cell, &part.ends))
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|one| one.expect("a measuring thread does not panic"))
            .collect()
    });
    let idle_percent = idle.percent();
    let figures = measured.into_iter().collect::<Result<Vec<_>>>()?;
    let calls: f64 = figures.iter().map(|one| one.calls as f64).sum();
    let weighted = |figure: &dyn Fn(&crate::figures::Figures) -> f64| {
        let sum: f64 = figures
            .iter()
            .map(|one| figure(one) * one.calls as f64)
            .sum();
        sum / calls
    };
    let has_daemon = figures.iter().all(|one| one.daemon_us.is_some());
    let round = Round {
        calls_per_s: figures.iter().map(|one| one.calls_per_s).sum(),
        ends_us: weighted(&|one| one.user_us + one.system_us),
        daemon_us: has_daemon.then(|| weighted(&|one| one.daemon_us.unwrap_or(0.0))),
        idle_percent,
    };
    Ok((round, calls))
}

fn measure_counts(
    account: Option<&Account>,
    placement: &Placement,
    peer: usize,
    cell: &Cell,
) -> Result<Option<Counts>> {
    let Some(account) = account else {
        return Ok(None);
    };
    account.start()?;
    let measured = measure_once(placement, peer, cell);
    let counts = account.stop()?;
    Ok(Some(counts.per(measured?.1)))
}

fn measure_all(
    arguments: &Arguments,
    placements: &[Placement],
    account: Option<&Account>,
) -> Result<Vec<Row>> {
    let mut plan = Vec::new();
    let mut rows = Vec::new();
    for pairs in &arguments.compared.pairs {
        for (number, peer) in placements[0].parts[0].peers.iter().enumerate() {
            // A device cannot be had once for each core.
            for placement in placements
                .iter()
                .filter(|one| one.parts.len() == 1 || !peer.is_device())
            {
                plan.push((number, placement));
                rows.push(Row {
                    peer: peer.name.clone(),
                    placement: placement.name,
                    pairs: *pairs,
                    rounds: Vec::new(),
                    counts: None,
                });
            }
        }
    }
    let steps = u64::from(arguments.rounds) + u64::from(account.is_some());
    let mut progress = Progress::new(steps * rows.len() as u64);
    for round in 0..steps {
        for (row, (peer, placement)) in rows.iter_mut().zip(&plan) {
            interrupt::check()?;
            progress.at(format!("{}, {}, {}", row.pairs, row.peer, row.placement));
            let cell = Cell {
                pairs: row.pairs,
                size: arguments.size,
                length: Length::Duration(Duration::from_millis(arguments.duration_ms)),
                delay_us: 0,
                measured: 0,
            };
            if round < u64::from(arguments.rounds) {
                row.rounds.push(measure_once(placement, *peer, &cell)?.0);
            } else {
                row.counts = measure_counts(account, placement, *peer, &cell)?;
            }
            progress.step();
        }
    }
    Ok(rows)
}

fn document_of(rows: &[Row], arguments: &Arguments, notes: &[String]) -> Value {
    let cells: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "peer": row.peer,
                "placement": row.placement,
                "pairs": row.pairs,
                "calls_per_s": row.median(|one| Some(one.calls_per_s)),
                "ends_us": row.median(|one| Some(one.ends_us)),
                "daemon_us": row.median(|one| one.daemon_us),
                "idle_percent": row.median(|one| Some(one.idle_percent)),
                "rounds": row.rounds.iter().map(|one| one.calls_per_s).collect::<Vec<_>>(),
                "per_call": row.counts,
            })
        })
        .collect();
    json!({
        "bench": "cores",
        "machine": document::machine(),
        "rounds": arguments.rounds,
        "duration_ms": arguments.duration_ms,
        "request_bytes": arguments.size.request_bytes,
        "reply_bytes": arguments.size.reply_bytes,
        "cells": cells,
        "notes": notes,
    })
}

/// What the figures cannot show.
fn notes_of(load_before: f64, account: &Result<Account>, rows: &[Row]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Err(why) = account {
        notes.push(format!("no wake-ups are counted: {why}"));
    }
    if load_before > document::cores() as f64 / 2.0 {
        notes.push(format!(
            "the machine was busy before (load average {load_before:.1}, {} cores)",
            document::cores()
        ));
    }
    if rows
        .iter()
        .any(|row| row.counts.is_some_and(|counts| counts.lost > 0.01))
    {
        notes.push(
            "more events than the trace buffers hold: the counts are too small (--duration-ms)"
                .to_string(),
        );
    }
    notes
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    daemon::gain_mount_right()?;
    let load_before = document::load_average().first().copied().unwrap_or(0.0);
    let account = Account::open();
    let scratch = Scratch::new()?;
    let placements = start_all(arguments, &scratch)?;
    let rows = measure_all(arguments, &placements, account.as_ref().ok())?;
    drop(placements);
    let notes = notes_of(load_before, &account, &rows);
    let document = document_of(&rows, arguments, &notes);
    document::publish(
        context,
        arguments.output.as_deref(),
        "cores",
        &document,
        |path| table::draw(path, &rows, &notes),
        || {
            table::print(&rows, arguments.rounds, &notes);
            Ok(())
        },
    )?;
    Ok(ExitCode::SUCCESS)
}
