// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench throughput`: synchronous calls between pairs of a client and a server.
use crate::cell::{Cell, Length, Size};
use crate::daemon::{self, Scratch};
use crate::document;
use crate::figures::{self, Figures, Rounds};
use crate::peer::{self, Device, Peer};
use crate::progress::Progress;
use crate::scheduling::SchedulingOptions;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::interrupt;
use serde_json::{json, Value};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

mod pictures;
mod results;

use results::{Group, Results};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Peers to measure [default: all that can run; an unknown name lists them]
    #[arg(long, value_name = "PEER,...", value_delimiter = ',')]
    peers: Vec<String>,

    /// A binder device to measure too, e.g. stock=/dev/binder; may be given several times
    #[arg(long, value_name = "LABEL=PATH")]
    device: Vec<Device>,

    /// Number of clients, each with a server of its own
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,2,4,8,16",
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    pairs: Vec<u32>,

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

    /// How often each measurement is made, in turn with all others
    #[arg(long, value_name = "COUNT", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    scheduling: SchedulingOptions,

    /// Directory for throughput.json and throughput.svg
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

fn no_results(arguments: &Arguments, peers: &[Peer]) -> Results {
    let both = arguments
        .sizes
        .iter()
        .flat_map(|size| arguments.pairs.iter().map(move |pairs| (*pairs, *size)));
    Results {
        peers: peers.iter().map(|peer| peer.name.clone()).collect(),
        groups: both
            .map(|(pairs, size)| {
                let rounds = peers.iter().map(|_| Rounds::default()).collect();
                (Group { pairs, size }, rounds)
            })
            .collect(),
        failures: Vec::new(),
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
                delay_us: 0,
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

/// A column of the table: its heading, how wide, how many decimals, which figure.
type Column = (&'static str, usize, usize, fn(&Figures) -> Option<f64>);

const BEFORE: [Column; 4] = [
    ("min us", 9, 1, |one| Some(one.min_us)),
    ("avg us", 9, 1, |one| Some(one.avg_us)),
    ("p50 us", 9, 1, |one| Some(one.p50_us)),
    ("p99 us", 10, 1, |one| Some(one.p99_us)),
];
const AFTER: [Column; 3] = [
    ("calls/s", 11, 0, |one| Some(one.calls_per_s)),
    ("ends us", 9, 1, |one| Some(one.user_us + one.system_us)),
    ("daemon us", 10, 1, |one| one.daemon_us),
];

fn cells(columns: &[Column], rounds: &Rounds) -> String {
    let texts = columns.iter().map(|(_, width, decimals, figure)| {
        rounds
            .median(figure)
            .map_or(format!("{:>width$}", "-"), |value| {
                format!("{value:>width$.decimals$}")
            })
    });
    texts.collect()
}

fn headings(columns: &[Column]) -> String {
    let texts = columns
        .iter()
        .map(|(heading, width, ..)| format!("{heading:>width$}"));
    texts.collect()
}

fn table_line(name: &str, rounds: &Rounds, first: &Rounds, is_first: bool) -> Result<String> {
    if rounds.figures.is_empty() {
        return Ok(format!("  {name:14} did not run"));
    }
    let tail_us = rounds.histogram()?.value_at_quantile(0.999) as f64 / 1000.0;
    let times = match first.ratio(rounds, |one| one.p50_us) {
        Some(ratio) if !is_first => format!("{ratio:.2}"),
        _ => String::new(),
    };
    Ok(format!(
        "  {name:14}{}{tail_us:>10.1}{}{times:>9}",
        cells(&BEFORE, rounds),
        cells(&AFTER, rounds)
    ))
}

fn print_table(results: &Results, arguments: &Arguments) -> Result<()> {
    println!(
        "medians over {} rounds (p99.9: over all calls); ends, daemon: processor time per call;\n\
         the last column: p50 of {} divided by p50 of the line\n",
        arguments.rounds, results.peers[0]
    );
    println!(
        "  {:14}{}{:>10}{}{:>9}",
        "",
        headings(&BEFORE),
        "p99.9 us",
        headings(&AFTER),
        "x this"
    );
    for (group, all) in &results.groups {
        println!("{}", group.name());
        for (number, (name, rounds)) in results.peers.iter().zip(all).enumerate() {
            println!("{}", table_line(name, rounds, &all[0], number == 0)?);
        }
    }
    Ok(())
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
        "peers": results.peers,
        "cells": cells,
        "failures": results.failures,
    }))
}

fn measure(arguments: &Arguments) -> Result<Results> {
    let scratch = Scratch::new()?;
    arguments.scheduling.apply()?;
    let peers = peer::start(
        &arguments.peers,
        &arguments.device,
        &scratch,
        |name, why| {
            eprintln!("{name} is left out: {why}");
        },
    )?;
    measure_all(arguments, &peers)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
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
        || print_table(&results, arguments),
    )?;
    match results.failures.len() {
        0 => Ok(ExitCode::SUCCESS),
        1 => Err(Error::new("One measurement failed.")),
        count => Err(Error::new(format!("{count} measurements failed."))),
    }
}
