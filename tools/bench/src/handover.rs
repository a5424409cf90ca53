// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench handover`: for how long clients wait when the daemon is replaced under them.
//!
//! Each load has so many idle clients, and two that call all the time, over another device of the
//! same daemon. The daemon hands over to a successor again and again; the pauses are those that the
//! daemon states, and the longest call of those that call.
use crate::cell::{Cell, Length};
use crate::comparison::{Column, Comparison, Group, Repeat, Subject};
use crate::daemon::{self, Daemon, Scratch};
use crate::document::Output;
use crate::figures::Figures;
use crate::idle_clients::{IdleClients, Load};
use crate::peer::Peer;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::mount::Mount;
use anybinder_mount::{generation, interrupt};
use serde_json::json;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

const TARGET_MS: f64 = 50.0;
const LIMIT: Duration = Duration::from_secs(60);
/// How long the calling clients call, and when the hand-over begins meanwhile.
const CALL_TIME: Duration = Duration::from_millis(500);
const BEGIN_AFTER: Duration = Duration::from_millis(200);
/// A calling client rests so long between two calls.
const REST_US: u64 = 200;
const CALLERS: u32 = 2;
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

    /// Idle clients, threads of each that wait, and objects of all [default: four loads that
    /// differ in one of them each]
    #[arg(
        long,
        value_name = "CLIENTS:THREADS:OBJECTS,...",
        value_delimiter = ','
    )]
    loads: Vec<Load>,

    #[command(flatten)]
    output: Output,
}

/// A figure of each hand-over that the daemon states.
macro_rules! stated {
    ($head:literal, $name:literal, $share:literal) => {
        ($head, 1, |rounds, _| {
            rounds.quantile($share, |one| one.more.get($name).copied())
        })
    };
}

/// The longest call in each hand-over.
macro_rules! seen {
    ($head:literal, $share:literal) => {
        ($head, 1, |rounds, _| {
            rounds.quantile($share, |one| Some(one.durations().max_us() / 1000.0))
        })
    };
}

const COLUMNS: [Column; 10] = [
    stated!("pause p50", "pause_ms", 0.5),
    stated!("p99", "pause_ms", 0.99),
    stated!("worst", "pause_ms", 1.0),
    stated!("write", "written_ms", 0.5),
    stated!("restore", "restored_ms", 0.5),
    stated!("begin", "begun_ms", 0.5),
    seen!("seen p50", 0.5),
    seen!("p99", 0.99),
    seen!("worst", 1.0),
    stated!("state, KiB", "state_kib", 0.5),
];

/// From the daemon's message "a pause of 9 us (the state, 9 bytes, came after 9 us and was restored
/// after 9 us)": the pause, its parts, and the size of the state.
fn parse(line: &str) -> Option<BTreeMap<&'static str, f64>> {
    let (text, _) = line[line.find("a pause of ")?..].split_once(')')?;
    let words = text.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    let [pause, bytes, came, restored] = numbers[..] else {
        return None;
    };
    let ms = |us: u64| us as f64 / 1000.0;
    Some(BTreeMap::from([
        ("pause_ms", ms(pause)),
        ("written_ms", ms(came)),
        ("restored_ms", ms(restored.checked_sub(came)?)),
        ("begun_ms", ms(pause.checked_sub(restored)?)),
        ("state_kib", bytes as f64 / 1024.0),
    ]))
}

/// One hand-over, begun after a while; returns when it was begun and when it had ended.
fn replace(mount: &Mount) -> Result<(Instant, Instant)> {
    std::thread::sleep(BEGIN_AFTER);
    let begun = Instant::now();
    let now = generation::hand_over(mount, generation::HandOver::default())?;
    match now.last.as_str() {
        "done" => Ok((begun, Instant::now())),
        last => Err(Error::with_advice(
            format!("A hand-over {last}."),
            now.reason.unwrap_or_default(),
        )),
    }
}

/// A daemon under a load. The clients end first.
struct Loaded {
    _idle: IdleClients,
    callers: Peer,
    _daemon: Daemon,
    mount: Mount,
    log: PathBuf,
    _scratch: Scratch,
}

impl Loaded {
    fn start(load: Load) -> Result<Loaded> {
        let scratch = Scratch::new()?;
        let log = scratch.0.join("log");
        let daemon = daemon::anybinderd_with_log(&scratch.0, &log)?;
        let device = Path::new(&daemon.address).with_file_name("hwbinder");
        Ok(Loaded {
            _idle: IdleClients::start(&daemon.address, load)?,
            callers: Peer::plain("callers", "binder", Some(&device.to_string_lossy()))?,
            mount: Mount::new(Some(scratch.0.join("binderfs")), Some(scratch.0.clone()))?,
            _daemon: daemon,
            log,
            _scratch: scratch,
        })
    }

    /// Hands over while clients call for so long. None: they did not call all the time, on a busy
    /// machine.
    fn hand_over(&self, cell: &Cell, time: Duration) -> Result<Option<Figures>> {
        let cell = Cell {
            length: Length::Duration(time),
            ..cell.clone()
        };
        let (called, over) = std::thread::scope(|scope| {
            let calling = scope.spawn(|| {
                let figures = self.callers.measure(&cell);
                figures.map(|figures| (figures, Instant::now()))
            });
            let over = replace(&self.mount);
            let called = calling.join();
            (called.expect("a calling thread does not panic"), over)
        });
        let ((figures, ended), (begun, over)) = (called?, over?);
        let called_before = ended - Duration::from_secs_f64(figures.seconds) <= begun;
        Ok((ended >= over && called_before).then_some(figures))
    }

    fn measure(&self, cell: &Cell) -> Result<Figures> {
        let mut time = CALL_TIME;
        let mut figures = loop {
            if let Some(figures) = self.hand_over(cell, time)? {
                break figures;
            }
            time *= 2;
            if time > LIMIT {
                return Err(Error::new("The calling clients are too slow."));
            }
        };
        let text = std::fs::read_to_string(&self.log);
        let text = text.doing(|| "reading the daemon's log".to_string())?;
        let last = text.lines().filter_map(parse).last();
        figures.more = last.ok_or_else(|| Error::new("The daemon's log states no pause."))?;
        Ok(figures)
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    daemon::gain_mount_right()?;
    let loads = match &arguments.loads[..] {
        [] => LOADS.to_vec(),
        given => given.to_vec(),
    };
    let subjects = loads.iter().map(|load| {
        let loaded = OnceCell::new();
        Subject::new(&load.to_string(), move |cell| {
            if loaded.get().is_none() {
                let _ = loaded.set(Loaded::start(*load)?);
            }
            loaded.get().expect("set above").measure(cell)
        })
    });
    let cell = Cell {
        pairs: CALLERS,
        delay_us: REST_US,
        ..Cell::default()
    };
    let group = Group::new("a hand-over".to_string(), cell, 0..loads.len());
    let mut all = Comparison::new(subjects.collect(), vec![group]);
    all.measure(Repeat::Apart(arguments.hand_overs))?;
    let pauses = all.rows().flat_map(|(.., rounds)| &rounds.figures);
    let worst = pauses
        .map(|(_, one)| one.more["pause_ms"])
        .fold(0.0, f64::max);
    let words = "in ms. pause: as the daemon states, and the p50 of its parts; seen: the longest \
                 call\n";
    let document = json!({ "hand_overs": arguments.hand_overs });
    let table = all.table(&COLUMNS, None);
    let mut figures = all.published("handover", document, words.to_string(), table);
    figures.text += &format!("worst pause {worst:.1} ms, wanted at most {TARGET_MS} ms\n");
    figures.publish(context, &arguments.output)?;
    all.check()?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_message_is_read() {
        let line = "12:00 anybinderd: took over 7 opens after a pause of 9000 us (the state, 512 \
                    bytes, came after 2000 us and was restored after 5000 us), 3 calls left behind";
        let found = parse(line).unwrap();
        let parts = [
            "pause_ms",
            "written_ms",
            "restored_ms",
            "begun_ms",
            "state_kib",
        ];
        assert_eq!(parts.map(|name| found[name]), [9.0, 2.0, 3.0, 4.0, 0.5]);
        assert_eq!(parse("a pause of 9 us"), None);
        assert_eq!("1000:1:10".parse::<Load>(), Ok(load(1000, 1, 10)));
        assert!("1000:1".parse::<Load>().is_err());
    }
}
