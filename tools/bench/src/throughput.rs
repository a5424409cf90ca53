// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench throughput`: synchronous calls between pairs of a client and a server.
use crate::cell::{Cell, Length, Size};
use crate::daemon::{self, Scratch};
use crate::document;
use crate::figures::{self, Rounds};
use crate::peer::{self, Compared, Peer};
use crate::progress::Progress;
use crate::scheduling::SchedulingOptions;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Kind, Result};
use anybinder_mount::interrupt;
use serde_json::{json, Value};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

mod csv;
mod limits;
mod pictures;
mod results;
mod table;

use results::{Group, Results};

/// Between two calls of a client that is measured beside others.
const PAUSE_US: u64 = 1000;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    compared: Compared,

    /// Bytes of a call: both ways, or REQUEST/REPLY
    #[arg(
        long,
        value_name = "SIZE,...",
        value_delimiter = ',',
        default_value = "0,4k,64k,1m"
    )]
    sizes: Vec<Size>,

    /// How long each measurement lasts
    #[arg(long, value_name = "MS", default_value_t = 200,
          value_parser = clap::value_parser!(u64).range(1..=600_000))]
    duration_ms: u64,

    /// Calls of each client, instead of a duration
    #[arg(long, value_name = "COUNT", conflicts_with = "duration_ms",
          value_parser = clap::value_parser!(u64).range(1..))]
    calls: Option<u64>,

    /// Durations of so many clients only, which pause for 1 ms between two calls; the others call
    /// without a pause
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 0,
        hide_default_value = true
    )]
    measured: u32,

    /// How often each measurement is made, in turn with all others
    #[arg(long, value_name = "COUNT", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    scheduling: SchedulingOptions,

    /// Print comma-separated values, a line for each round of each peer
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    /// Directory for throughput.json and throughput.svg
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

fn no_results(arguments: &Arguments, peers: &[Peer]) -> Results {
    let both = arguments.sizes.iter().flat_map(|size| {
        arguments
            .compared
            .pairs
            .iter()
            .map(move |pairs| (*pairs, *size))
    });
    Results {
        peers: peers.iter().map(|peer| peer.name.clone()).collect(),
        groups: both
            .map(|(pairs, size)| {
                let rounds = peers.iter().map(|_| Rounds::default()).collect();
                (Group { pairs, size }, rounds)
            })
            .collect(),
        failures: Vec::new(),
        load_before: document::load_average().first().copied().unwrap_or(0.0),
    }
}

fn measure_all(arguments: &Arguments, peers: &[Peer]) -> Result<Results> {
    let mut results = no_results(arguments, peers);
    let steps = results.groups.len() * peers.len() * arguments.rounds as usize;
    let mut progress = Progress::new(steps as u64);
    let length = match arguments.calls {
        Some(count) => Length::Calls(count),
        None => Length::Duration(Duration::from_millis(arguments.duration_ms)),
    };
    for round in 0..arguments.rounds {
        for (group, all) in &mut results.groups {
            let cell = Cell {
                pairs: group.pairs,
                size: group.size,
                length,
                delay_us: if arguments.measured > 0 { PAUSE_US } else { 0 },
                measured: arguments.measured,
            };
            for (peer, rounds) in peers.iter().zip(all) {
                interrupt::check()?;
                let what = format!("{}, {}", group.name(), peer.name);
                progress.at(format!("round {}: {what}", round + 1));
                match peer.measure(&cell, &arguments.scheduling) {
                    Ok(figures) => rounds.figures.push((round, figures)),
                    Err(error) => {
                        interrupt::check()?;
                        progress.note(&format!("{what}: {error}"));
                        results.failures.push(format!("{what}: {error}"));
                    }
                }
                progress.step();
            }
        }
    }
    Ok(results)
}

fn cell_document(group: &Group, peer: &str, rounds: &Rounds) -> Result<Value> {
    let histogram = rounds.histogram()?;
    Ok(json!({
        "peer": peer,
        "pairs": group.pairs,
        "request_bytes": group.size.request_bytes,
        "reply_bytes": group.size.reply_bytes,
        "quantiles": figures::quantiles(&histogram),
        "distribution": figures::curve(&histogram),
        "spread_percent": limits::spread_percent(rounds, |one| one.calls_per_s),
        "rounds": rounds.figures.iter().map(|(number, one)| {
            let mut value = serde_json::to_value(one).expect("own types become JSON");
            value["round"] = json!(number);
            value
        }).collect::<Vec<_>>(),
    }))
}

fn document_of(results: &Results, arguments: &Arguments) -> Result<Value> {
    let mut cells = Vec::new();
    for (group, all) in &results.groups {
        for (peer, rounds) in results.peers.iter().zip(all) {
            if !rounds.figures.is_empty() {
                cells.push(cell_document(group, peer, rounds)?);
            }
        }
    }
    Ok(json!({
        "bench": "throughput",
        "machine": document::machine(),
        "rounds": arguments.rounds,
        "duration_ms": if arguments.calls.is_none() { Some(arguments.duration_ms) } else { None },
        "calls": arguments.calls,
        "measured": arguments.measured,
        "peers": results.peers,
        "cells": cells,
        "failures": results.failures,
        "warnings": limits::warnings(results, document::cores()),
    }))
}

fn measure(arguments: &Arguments) -> Result<Results> {
    let scratch = Scratch::new()?;
    arguments.scheduling.apply()?;
    let peers = peer::start(
        &arguments.compared.peers,
        &arguments.compared.device,
        &scratch,
        |name, why| {
            eprintln!("{name} is left out: {why}");
        },
    )?;
    measure_all(arguments, &peers)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    if arguments.measured > 0
        && arguments
            .compared
            .pairs
            .iter()
            .any(|pairs| *pairs <= arguments.measured)
    {
        return Err(Error::new(format!(
            "--measured {0} needs more than {0} pairs, so that there is a load beside them.",
            arguments.measured
        ))
        .of(Kind::Usage));
    }
    interrupt::defer();
    daemon::gain_mount_right()?;
    let results = measure(arguments)?;
    let document = document_of(&results, arguments)?;
    document::publish(
        context,
        arguments.output.as_deref(),
        "throughput",
        &document,
        |path| pictures::draw(path, &results),
        || match arguments.csv {
            true => csv::print(&results),
            false => table::print(&results, arguments.rounds),
        },
    )?;
    match results.failures.len() {
        0 => Ok(ExitCode::SUCCESS),
        1 => Err(Error::new("One measurement failed.")),
        count => Err(Error::new(format!("{count} measurements failed."))),
    }
}
