// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench handover`: for how long clients wait when the daemon is replaced under them.
//!
//! Each load has so many idle clients, and some that call all the time, over another device of the
//! same daemon. The daemon hands over to a successor again and again; the pauses are those that the
//! daemon states, and the longest call of each of those that call.
use crate::cell::{Cell, Length};
use crate::daemon::{self, Daemon, Scratch};
use crate::document::{self, Output, Part, Published};
use crate::figures::Figures;
use crate::idle_clients::{IdleClients, Load};
use crate::peer::Peer;
use crate::progress::Progress;
use crate::scheduling::SchedulingOptions;
use crate::table::Table;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use serde::Serialize;
use serde_json::{json, Value};
use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

const TARGET_MS: f64 = 50.0;
const LIMIT: Duration = Duration::from_secs(60);
/// How long the calling clients call, and when the hand-over begins meanwhile.
const CALL_TIME: Duration = Duration::from_millis(500);
const BEGIN_AFTER: Duration = Duration::from_millis(200);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// A calling client rests so long between two calls.
const REST_US: u64 = 200;
/// The costs of an open, a thread and an object are the differences between them.
const LOADS: [Load; 4] = [
    load(100, 1, 100),
    load(1000, 1, 1000),
    load(1000, 2, 1000),
    load(1000, 1, 10000),
];

const fn load(clients: u32, threads: u32, objects: u32) -> Load {
    Load {
        clients,
        threads,
        objects,
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} clients, {} threads of each, ",
            self.clients, self.threads
        )?;
        write!(f, "{} objects", self.objects)
    }
}

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let numbers: Option<Vec<u32>> = text.split(':').map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[clients, threads, objects]) => Ok(load(clients, threads, objects)),
            _ => Err(format!("{text} is not a load; write it like 1000:1:10000")),
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Hand-overs of each load
    #[arg(long, value_name = "COUNT", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..))]
    hand_overs: u32,

    /// Clients that call
    #[arg(long, value_name = "COUNT", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=8))]
    pairs: u32,

    /// Idle clients, threads of each that wait, and objects of all [default: four loads, from which
    /// the cost of each kind follows]
    #[arg(
        long,
        value_name = "CLIENTS:THREADS:OBJECTS,...",
        value_delimiter = ','
    )]
    loads: Vec<Load>,

    #[command(flatten)]
    output: Output,
}

/// The parts of a pause that the daemon states.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Pause {
    pause_ms: f64,
    written_ms: f64,
    restored_ms: f64,
    begun_ms: f64,
}

/// All hand-overs of a load.
#[derive(Serialize)]
struct Measured {
    #[serde(flatten)]
    load: Load,
    state_bytes: u64,
    pauses: Vec<Pause>,
    /// The longest call of each calling client in each hand-over.
    seen_ms: Vec<f64>,
}

/// From the daemon's message "a pause of 9 us (the state, 9 bytes, came after 9 us and was restored
/// after 9 us)": the pause and the bytes of the state.
fn parse(line: &str) -> Option<(Pause, u64)> {
    let (text, _) = line[line.find("a pause of ")?..].split_once(')')?;
    let words = text.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    let [pause, bytes, came, restored] = numbers[..] else {
        return None;
    };
    let ms = |us: u64| us as f64 / 1000.0;
    let pause = Pause {
        pause_ms: ms(pause),
        written_ms: ms(came),
        restored_ms: ms(restored.checked_sub(came)?),
        begun_ms: ms(pause.checked_sub(restored)?),
    };
    Some((pause, bytes))
}

/// A word of what the daemon says of itself.
fn status(daemon: &Daemon, key: &str) -> Result<String> {
    let path = Path::new(&daemon.address)
        .with_file_name("binder_logs")
        .join("daemon");
    let text = std::fs::read_to_string(&path).doing(|| format!("reading {}", path.display()))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    Ok(line.unwrap_or_default().to_string())
}

/// One hand-over, begun after a while; returns when it was begun and when it had ended.
fn hand_over(daemon: &Daemon) -> Result<(Instant, Instant)> {
    let before = status(daemon, "attempts")?;
    std::thread::sleep(BEGIN_AFTER);
    let begun = Instant::now();
    // SAFETY: the daemon's first process stays until the daemon is dropped.
    unsafe { libc::kill(daemon.pid() as libc::pid_t, libc::SIGHUP) };
    while status(daemon, "attempts")? == before {
        if begun.elapsed() > LIMIT {
            return Err(Error::new("A hand-over did not end."));
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    match status(daemon, "last")?.as_str() {
        "done" => Ok((begun, Instant::now())),
        last => Err(Error::with_advice(
            format!("A hand-over {last}."),
            status(daemon, "reason")?,
        )),
    }
}

/// Hands over while clients call; the longest call of each in ms. None: they did not call all the
/// time, on a busy machine.
fn seen(daemon: &Daemon, callers: &Peer, pairs: u32, time: Duration) -> Result<Option<Vec<f64>>> {
    let same = "other:0".parse().map_err(Error::new)?;
    let cell = Cell {
        length: Length::Duration(time),
        delay_us: REST_US,
        // A class for each client, so that its durations are apart.
        classes: vec![same; pairs as usize],
        ..Cell::default()
    };
    let (called, over) = std::thread::scope(|scope| {
        let calling = scope.spawn(|| {
            let figures = callers.measure(&cell, &SchedulingOptions::default());
            figures.map(|figures: Figures| (figures, Instant::now()))
        });
        let over = hand_over(daemon);
        (
            calling.join().expect("a calling thread does not panic"),
            over,
        )
    });
    let ((figures, ended), (begun, over)) = (called?, over?);
    if ended < over || ended - Duration::from_secs_f64(figures.seconds) > begun {
        return Ok(None);
    }
    let classes = figures.classes.iter();
    Ok(Some(
        classes
            .map(|class| class.durations.max_us() / 1000.0)
            .collect(),
    ))
}

fn measure(arguments: &Arguments, load: Load, progress: &mut Progress) -> Result<Measured> {
    let scratch = Scratch::new()?;
    let log = scratch.0.join("log");
    let daemon = daemon::anybinderd_with_log(&scratch.0, &log)?;
    let idle = IdleClients::start(&daemon.address, load)?;
    let device = Path::new(&daemon.address).with_file_name("hwbinder");
    let callers = Peer::plain("callers", "binder", Some(&device.to_string_lossy()))?;
    let mut seen_ms = Vec::new();
    let (mut count, mut time) = (0, CALL_TIME);
    while count < arguments.hand_overs {
        interrupt::check()?;
        progress.at(&load.to_string());
        match seen(&daemon, &callers, arguments.pairs, time)? {
            Some(longest) => {
                seen_ms.extend(longest);
                count += 1;
                progress.step();
            }
            None if time < LIMIT => time *= 2,
            None => return Err(Error::new("The calling clients are too slow.")),
        }
    }
    drop((idle, daemon));
    let text = std::fs::read_to_string(&log).doing(|| "reading the daemon's log".to_string())?;
    let stated: Vec<(Pause, u64)> = text.lines().filter_map(parse).collect();
    if stated.len() < arguments.hand_overs as usize {
        return Err(Error::new(
            "The daemon's log does not tell of each hand-over.",
        ));
    }
    Ok(Measured {
        load,
        state_bytes: stated.last().map_or(0, |(_, bytes)| *bytes),
        pauses: stated.into_iter().map(|(pause, _)| pause).collect(),
        seen_ms,
    })
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let number = (share * values.len() as f64) as usize;
    values
        .get(number.min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0.0)
}

impl Measured {
    fn quantile(&self, figure: fn(&Pause) -> f64, share: f64) -> f64 {
        quantile(self.pauses.iter().map(figure).collect(), share)
    }

    fn row(&self) -> Vec<String> {
        let pause = |share| self.quantile(|one| one.pause_ms, share);
        let seen = |share| quantile(self.seen_ms.clone(), share);
        let times = [
            pause(0.5),
            pause(0.99),
            pause(1.0),
            self.quantile(|one| one.written_ms, 0.5),
            self.quantile(|one| one.restored_ms, 0.5),
            self.quantile(|one| one.begun_ms, 0.5),
            seen(0.5),
            seen(0.99),
            seen(1.0),
        ];
        let load = &self.load;
        let mut row = [load.clients, load.clients * load.threads, load.objects]
            .map(|one| one.to_string())
            .to_vec();
        row.extend(times.map(|ms| format!("{ms:.1}")));
        row.push(format!("{}", self.state_bytes / 1024));
        row
    }
}

fn table_of(all: &[Measured]) -> Table {
    let mut table = Table::new([
        "clients",
        "threads",
        "objects",
        "pause p50",
        "p99",
        "worst",
        "write",
        "restore",
        "begin",
        "seen p50",
        "p99",
        "worst",
        "state, KiB",
    ]);
    all.iter().for_each(|one| table.row(one.row()));
    table
}

/// What one more of each takes: bytes of the state and us of the pause (its p50). None unless all
/// loads were measured.
fn costs_of(all: &[Measured]) -> Option<Vec<(&'static str, f64, f64)>> {
    let of = |load: Load| {
        let one = all.iter().find(|one| one.load == load)?;
        Some([
            one.state_bytes as f64,
            1000.0 * one.quantile(|pause| pause.pause_ms, 0.5),
        ])
    };
    let [few, many, threads, objects] = LOADS.map(of);
    let (few, many, threads, objects) = (few?, many?, threads?, objects?);
    let cost = |number: usize| {
        let an_object = (objects[number] - many[number]) / 9000.0;
        let a_thread = (threads[number] - many[number]) / 1000.0;
        let an_open = (many[number] - few[number]) / 900.0 - an_object - a_thread;
        [an_object, a_thread, an_open]
    };
    let [bytes, us] = [cost(0), cost(1)];
    let names = ["object", "waiting thread", "open"];
    Some(
        names
            .into_iter()
            .zip(bytes)
            .zip(us)
            .map(|((name, bytes), us)| (name, bytes, us))
            .collect(),
    )
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    daemon::gain_mount_right()?;
    let loads = match &arguments.loads[..] {
        [] => LOADS.to_vec(),
        given => given.to_vec(),
    };
    let mut progress = Progress::new(loads.len() as u64 * u64::from(arguments.hand_overs));
    let measured = loads
        .into_iter()
        .map(|load| measure(arguments, load, &mut progress));
    let all = measured.collect::<Result<Vec<_>>>()?;
    drop(progress);
    let costs = costs_of(&all).unwrap_or_default();
    let worst = all
        .iter()
        .map(|one| one.quantile(|pause| pause.pause_ms, 1.0));
    let worst = worst.fold(0.0, f64::max);
    let mut parts = vec![
        Part::Words(
            "in ms. pause: as the daemon states, and the p50 of its parts; seen: the longest call \
             of a\ncalling client\n"
                .to_string(),
        ),
        Part::Table(table_of(&all)),
    ];
    parts.extend(costs.iter().map(|(name, bytes, us)| {
        Part::Words(format!("each {name}: {bytes:.0} bytes, {us:.2} us"))
    }));
    parts.push(Part::Words(format!(
        "worst pause {worst:.1} ms, wanted at most {TARGET_MS} ms"
    )));
    let named = costs.iter().map(|(name, bytes, us)| {
        (
            name.to_string(),
            json!({ "state_bytes": bytes, "pause_us": us }),
        )
    });
    let figures = Published {
        name: "handover",
        document: json!({
            "bench": "handover",
            "machine": document::machine(),
            "hand_overs": arguments.hand_overs,
            "pairs": arguments.pairs,
            "cells": all,
            "costs": Value::Object(named.collect()),
        }),
        picture: None,
        parts,
    };
    figures.publish(context, &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_message_is_read() {
        let line = "12:00 anybinderd: took over 7 opens after a pause of 9000 us (the state, 512 \
                    bytes, came after 2000 us and was restored after 5000 us), 3 calls left behind";
        let wanted = Pause {
            pause_ms: 9.0,
            written_ms: 2.0,
            restored_ms: 3.0,
            begun_ms: 4.0,
        };
        assert_eq!(parse(line), Some((wanted, 512)));
        assert_eq!(parse("a pause of 9 us"), None);
        assert_eq!("1000:1:10".parse::<Load>(), Ok(load(1000, 1, 10)));
        assert!("1000:1".parse::<Load>().is_err());
    }

    #[test]
    fn costs_are_differences() {
        let measured = |load: Load| Measured {
            load,
            state_bytes: u64::from(
                load.clients * 10 + load.clients * load.threads * 3 + load.objects * 2,
            ),
            pauses: Vec::new(),
            seen_ms: Vec::new(),
        };
        let costs = costs_of(&LOADS.map(measured)).unwrap();
        let bytes: Vec<f64> = costs.iter().map(|(_, bytes, _)| *bytes).collect();
        assert_eq!(bytes, [2.0, 3.0, 10.0]);
        assert!(costs_of(&[measured(LOADS[0])]).is_none());
    }
}
