// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench targets`: the daemon beside other IPC, and whether it meets its targets.
//!
//! Everything on one core, and as the scheduler decides; then the memory of a daemon with many
//! clients. A missed target is reported and is not an error; a measurement that did not run is.
use crate::cell::{Cell, Length, Size};
use crate::comparison::{first_to_this, Beside, Comparison, Group, Repeat, COLUMNS};
use crate::daemon::{self, Scratch};
use crate::document::{self, Output, Part, Published};
use crate::figures::{Figures, Rounds};
use crate::idle_clients::{IdleClients, Load, Memory};
use crate::peer;
use crate::scheduling::{CpuList, SchedulingOptions};
use crate::table::Table;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::interrupt;
use serde::Serialize;
use serde_json::{json, Value};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    /// Everything on the last core, which is the setting with the least noise.
    OneCore,
    /// As the scheduler decides.
    Unpinned,
}

impl Setting {
    fn name(self) -> &'static str {
        match self {
            Setting::OneCore => "one core",
            Setting::Unpinned => "unpinned",
        }
    }
}

/// Where, pairs, sizes, and whether binder stands beside the lower bounds of a call only.
type Plan = (Setting, &'static [u32], &'static [&'static str], bool);

const FULL: [Plan; 4] = [
    (
        Setting::OneCore,
        &[1],
        &["0", "4k", "64k", "1m", "64k/0"],
        false,
    ),
    (Setting::OneCore, &[4], &["0", "4k", "64k"], false),
    (
        Setting::Unpinned,
        &[1, 2, 4, 8, 16],
        &["0", "4k", "64k"],
        false,
    ),
    (Setting::OneCore, &[1], &["0"], true),
];
const QUICK: [Plan; 3] = [
    (Setting::OneCore, &[1], &["0", "64k"], false),
    (Setting::Unpinned, &[1, 4], &["0"], false),
    (Setting::OneCore, &[1], &["0"], true),
];
const FLOORS: [&str; 3] = ["binder", "futex", "fuse"];
/// Another mode of the daemon, and lower bounds of a call: no other peers.
const NO_OTHERS: [&str; 4] = ["binder", "binder-global", "futex", "fuse"];

/// Where, pairs, bytes each way, whether round trips (their p50) or calls per second are compared
/// with which peer, and the limit of the ratio: round trips at most, calls at least.
const SPEED_TARGETS: [(Setting, u32, &str, bool, &str, f64); 7] = [
    (Setting::OneCore, 1, "0", true, "dbus-daemon", 0.5),
    (Setting::OneCore, 1, "0", true, "dbus-broker", 1.0),
    (Setting::OneCore, 1, "4k", true, "dbus-broker", 1.0),
    (Setting::OneCore, 1, "64k", true, "dbus-daemon", 0.15),
    (Setting::OneCore, 1, "64k", true, "dbus-broker", 1.0),
    (Setting::OneCore, 1, "1m", true, "dbus-broker", 1.0),
    (Setting::Unpinned, 4, "0", false, "dbus-daemon", 1.4),
];

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Fewer sizes, shorter rounds
    #[arg(long)]
    quick: bool,

    /// Peers to measure [default: all that can run; an unknown name lists them]
    #[arg(long, value_name = "PEER,...", value_delimiter = ',')]
    peers: Vec<String>,

    /// How often each measurement is made, in turn with all others [default: 5, quick: 3]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// How long each measurement lasts [default: 200, quick: 120]
    #[arg(long, value_name = "MS")]
    duration_ms: Option<u64>,

    /// Idle clients whose memory is measured; 0: none
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    clients: u32,

    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Serialize)]
struct Target {
    name: String,
    value: f64,
    limit: f64,
    at_most: bool,
    unit: &'static str,
    met: bool,
}

impl Target {
    fn new(name: String, value: f64, limit: f64, at_most: bool, unit: &'static str) -> Self {
        Target {
            name,
            value,
            limit,
            at_most,
            unit,
            met: if at_most {
                value <= limit
            } else {
                value >= limit
            },
        }
    }

    fn row(&self) -> [String; 4] {
        let bound = if self.at_most { "most" } else { "least" };
        let limit = format!("at {bound} {} {}", self.limit, self.unit);
        let verdict = if self.met { "met" } else { "MISSED" };
        [
            self.name.clone(),
            format!("{:.2} {}", self.value, self.unit),
            limit,
            verdict.to_string(),
        ]
    }
}

/// A place where others make more calls: our calls per second to theirs.
type Behind = (String, Vec<(String, f64)>);

/// What a run finds.
#[derive(Default)]
struct Found {
    comparisons: Vec<Value>,
    parts: Vec<Part>,
    picture: Option<String>,
    targets: Vec<Target>,
    behind: Vec<Behind>,
    failures: Vec<String>,
}

fn size(text: &str) -> Size {
    text.parse().expect("a size of this file")
}

/// The rows of a group by peer.
fn row<'a>(all: &'a Comparison, group: &'a Group, peer: &str) -> Option<&'a Rounds> {
    let mut rows = group.rows.iter();
    let found = rows.find(|(number, _)| all.subjects[*number].peer == peer);
    found.map(|(_, rounds)| rounds)
}

fn speed_targets(all: &Comparison, setting: Setting) -> Vec<Target> {
    let targets = SPEED_TARGETS.iter().filter(|target| target.0 == setting);
    let found = targets.filter_map(|(_, pairs, bytes, is_time, other, limit)| {
        let is_wanted =
            |group: &&Group| group.cell.pairs == *pairs && group.cell.size == size(bytes);
        let group = all.groups.iter().find(is_wanted)?;
        let (ours, theirs) = (row(all, group, "binder")?, row(all, group, other)?);
        let figure = if *is_time {
            Figures::p50_us
        } else {
            Figures::calls_per_s
        };
        let what = if *is_time { "round trip" } else { "calls/s" };
        let place = format!("{}, {}", setting.name(), group.title);
        let name = format!("binder, {what} / {other}: {place}");
        Some(Target::new(
            name,
            ours.ratio(theirs, figure)?,
            *limit,
            *is_time,
            "x",
        ))
    });
    found.collect()
}

fn behind(all: &Comparison, setting: Setting) -> Vec<Behind> {
    let found = all.groups.iter().filter_map(|group| {
        let ours = row(all, group, "binder")?;
        let rows = group.rows.iter();
        let mut faster: Vec<(String, f64)> = rows
            .map(|(number, rounds)| (&all.subjects[*number].peer, rounds))
            .filter(|(peer, _)| !NO_OTHERS.contains(&peer.as_str()))
            .filter_map(|(peer, rounds)| {
                let ratio = ours.ratio(rounds, Figures::calls_per_s)?;
                (ratio < 1.0).then(|| (peer.clone(), ratio))
            })
            .collect();
        faster.sort_by(|a, b| a.1.total_cmp(&b.1));
        let place = format!("{}, {}", setting.name(), group.title);
        (!faster.is_empty()).then_some((place, faster))
    });
    found.collect()
}

impl Found {
    fn compare(&mut self, arguments: &Arguments, plan: &Plan) -> Result<()> {
        let (setting, pairs, sizes, is_floors) = *plan;
        let (rounds, duration_ms) = if arguments.quick { (3, 120) } else { (5, 200) };
        let duration = Duration::from_millis(arguments.duration_ms.unwrap_or(duration_ms));
        let usable = CpuList::usable()?;
        if setting == Setting::OneCore {
            usable.last().apply()?;
        }
        let names = match is_floors {
            true => FLOORS.map(String::from).to_vec(),
            false => arguments.peers.clone(),
        };
        let scratch = Scratch::new()?;
        let peers = peer::start(&names, &[], &scratch, |name, why| {
            eprintln!("{name} is left out: {why}");
        })?;
        let ends = SchedulingOptions::default();
        let subjects = peer::subjects(&peers, &ends);
        let (mut groups, count) = (Vec::new(), subjects.len());
        for bytes in sizes {
            for pairs in pairs {
                let cell = Cell {
                    pairs: *pairs,
                    size: size(bytes),
                    length: Length::Duration(duration),
                    ..Cell::default()
                };
                groups.push(Group::of(cell, 0..count));
            }
        }
        let mut all = Comparison::new(subjects, groups);
        all.measure(Repeat::Rounds(arguments.rounds.unwrap_or(rounds)))?;
        self.failures.append(&mut all.failures.clone());
        if !is_floors {
            self.targets.extend(speed_targets(&all, setting));
            self.behind.extend(behind(&all, setting));
        }
        let beside: Beside = first_to_this;
        let table = all.table(&COLUMNS, Some(("binder/this".to_string(), beside)));
        let arguments = json!({ "setting": setting.name() });
        let figures = all.published("throughput", arguments, String::new(), table);
        if setting == Setting::Unpinned {
            self.picture = figures.picture;
        }
        self.comparisons.push(figures.document);
        self.parts.extend(figures.parts);
        usable.apply()
    }
}

/// A new daemon, idle and then with many idle clients.
fn measure_memory(clients: u32) -> Result<[Memory; 2]> {
    let scratch = Scratch::new()?;
    let daemon = daemon::anybinderd(&scratch.0)?;
    std::thread::sleep(Duration::from_millis(500));
    let idle = Memory::of(daemon.pid());
    let load = Load {
        clients,
        threads: 1,
        objects: 0,
    };
    let started = IdleClients::start(&daemon.address, load)?;
    let full = Memory::of(daemon.pid());
    drop(started);
    Ok([idle, full])
}

fn memory_targets(clients: u32, [idle, full]: &[Memory; 2]) -> Vec<Target> {
    let mib = |kib: u64| kib as f64 / 1024.0;
    let own = |memory: &Memory| mib(memory.pss_kib - memory.pss_shmem_kib);
    let name = |what: &str| format!("{clients} clients, {what}");
    let threads = full.threads as f64 - idle.threads as f64;
    vec![
        Target::new(
            "idle daemon, memory".to_string(),
            mib(idle.pss_kib),
            10.0,
            true,
            "MiB",
        ),
        Target::new(
            name("memory beyond buffers"),
            own(full) - own(idle),
            100.0,
            true,
            "MiB",
        ),
        // The helper process starts a thread that closes files when there is one to close.
        Target::new(name("threads more than idle"), threads, 1.0, true, ""),
    ]
}

fn measure(arguments: &Arguments) -> Result<(Found, Option<[Memory; 2]>)> {
    let mut found = Found::default();
    let plans: &[Plan] = if arguments.quick { &QUICK } else { &FULL };
    for plan in plans {
        found.parts.push(Part::Words(format!("{}:", plan.0.name())));
        found.compare(arguments, plan)?;
    }
    let memory = match arguments.clients {
        0 => None,
        clients => Some(measure_memory(clients)?),
    };
    if let Some(memory) = &memory {
        found
            .targets
            .extend(memory_targets(arguments.clients, memory));
    }
    Ok((found, memory))
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    daemon::gain_mount_right()?;
    let (mut found, memory) = measure(arguments)?;
    let mut table = Table::new(["target", "measured", "wanted", ""]);
    found
        .targets
        .iter()
        .for_each(|target| table.row(target.row()));
    found.parts.push(Part::Table(table));
    if !found.behind.is_empty() {
        let mut table = Table::new(["where others make more calls", "our calls/s to theirs"]);
        for (place, peers) in &found.behind {
            let peers = peers
                .iter()
                .map(|(peer, ratio)| format!("{peer} {ratio:.2}"));
            table.row([place.clone(), peers.collect::<Vec<_>>().join(", ")]);
        }
        found.parts.push(Part::Table(table));
    }
    let met = found.targets.iter().filter(|target| target.met).count();
    found.parts.push(Part::Words(format!(
        "{met} of {} targets met, {} measurements failed",
        found.targets.len(),
        found.failures.len()
    )));
    let figures = Published {
        name: "targets",
        document: json!({
            "bench": "targets",
            "machine": document::machine(),
            "comparisons": found.comparisons,
            "memory": memory.map(|[idle, full]| json!({ "idle": idle, "full": full })),
            "targets": found.targets,
            "behind": found.behind,
            "failures": found.failures,
        }),
        picture: found.picture,
        parts: found.parts,
    };
    figures.publish(context, &arguments.output)?;
    match found.failures.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Error::new("Not everything was measured.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Subject;
    use crate::figures::tests::figures;

    /// Calls per second of each round, by peer.
    fn comparison(peers: &[(&str, &[u64])]) -> Comparison<'static> {
        let subjects = peers
            .iter()
            .map(|(peer, _)| Subject::new(peer, |_| Ok(figures(1, 1))));
        let cell = Cell {
            pairs: 4,
            ..Cell::default()
        };
        let group = Group::of(cell, 0..peers.len());
        let mut all = Comparison::new(subjects.collect(), vec![group]);
        for ((_, rounds), (_, calls)) in all.groups[0].rows.iter_mut().zip(peers) {
            let measured = calls.iter().zip(0..);
            rounds.figures = measured
                .map(|(one, round)| (round, figures(*one, 1000)))
                .collect();
        }
        all
    }

    #[test]
    fn the_places_where_others_are_faster_are_named() {
        let all = comparison(&[
            ("binder", &[10, 20, 30]),
            ("pipe", &[100, 40, 60]),
            ("grpc", &[9, 21, 29]),
            ("futex", &[99, 99, 99]),
            ("unix", &[20, 30, 40]),
        ]);
        let wanted = [("pipe".to_string(), 0.5), ("unix".to_string(), 20.0 / 30.0)];
        let place = "unpinned, 4 pairs, 0 B".to_string();
        assert_eq!(behind(&all, Setting::Unpinned), [(place, wanted.to_vec())]);
    }

    #[test]
    fn targets_are_met_or_missed() {
        let all = comparison(&[("binder", &[15, 15]), ("dbus-daemon", &[10, 10])]);
        let [one] = &speed_targets(&all, Setting::Unpinned)[..] else {
            panic!("one target is of this place");
        };
        assert_eq!((one.value, one.met), (1.5, true));
        assert!(speed_targets(&all, Setting::OneCore).is_empty());
        assert_eq!(
            Target::new(String::new(), 2.0, 1.0, true, "x").row()[3],
            "MISSED"
        );
    }

    #[test]
    fn memory_beyond_buffers_is_a_difference() {
        let memory = |pss_kib, pss_shmem_kib, threads| Memory {
            pss_kib,
            pss_shmem_kib,
            threads,
            files: 0,
        };
        let all = memory_targets(9, &[memory(2048, 1024, 5), memory(8192, 4096, 7)]);
        let values: Vec<f64> = all.iter().map(|one| one.value).collect();
        assert_eq!(values, [2.0, 3.0, 2.0]);
        assert_eq!(all.iter().filter(|one| one.met).count(), 2);
    }
}
