// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench targets`: the daemon beside other IPC, and whether it meets its targets.
//!
//! Everything on one core, and as the scheduler decides. A missed target is reported and is not an
//! error; a measurement that did not run is.
use crate::cell::{Cell, Length, Size};
use crate::comparison::{first_to_this, Beside, Comparison, Group, Repeat, COLUMNS};
use crate::daemon::{self, Scratch};
use crate::document::{self, Output, Published};
use crate::figures::{Figures, Rounds};
use crate::peer;
use crate::table::Table;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
use serde::Serialize;
use serde_json::{json, Value};
use std::process::ExitCode;
use std::time::Duration;
use Setting::{OneCore, Unpinned};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Everything on the last core, which is the setting with the least noise.
    OneCore,
    /// As the scheduler decides.
    Unpinned,
}

impl Setting {
    pub fn name(self) -> &'static str {
        match self {
            OneCore => "one core",
            Unpinned => "unpinned",
        }
    }

    /// Moves this thread, and so all that it starts, to its CPUs.
    ///
    /// * `usable`: those of this process
    pub fn apply(self, usable: &CpuSet) -> Result<()> {
        let mut cpus = *usable;
        if self == OneCore {
            let mut all = (0..CpuSet::MAX_CPU).rev();
            let last = all.find(|cpu| usable.is_set(*cpu));
            cpus.clear();
            last.into_iter().for_each(|cpu| cpus.set(cpu));
        }
        sched_setaffinity(None, &cpus).doing(|| "choosing a CPU".to_string())
    }
}

/// Where, pairs, sizes, and whether binder stands beside the lower bounds of a call only.
type Plan = (Setting, &'static [u32], &'static [&'static str], bool);

const FULL: [Plan; 4] = [
    (OneCore, &[1], &["0", "4k", "64k", "1m", "64k/0"], false),
    (OneCore, &[4], &["0", "4k", "64k"], false),
    (Unpinned, &[1, 2, 4, 8, 16], &["0", "4k", "64k"], false),
    (OneCore, &[1], &["0"], true),
];
const QUICK: [Plan; 3] = [
    (OneCore, &[1], &["0", "64k"], false),
    (Unpinned, &[1, 4], &["0"], false),
    (OneCore, &[1], &["0"], true),
];
const FLOORS: [&str; 3] = ["binder", "futex", "fuse"];

/// Where, pairs, bytes each way, whether round trips (their p50) or calls per second are compared
/// with which peer, and the limit of the ratio: round trips at most, calls at least.
const SPEED_TARGETS: [(Setting, u32, &str, bool, &str, f64); 7] = [
    (OneCore, 1, "0", true, "dbus-daemon", 0.5),
    (OneCore, 1, "0", true, "dbus-broker", 1.0),
    (OneCore, 1, "4k", true, "dbus-broker", 1.0),
    (OneCore, 1, "64k", true, "dbus-daemon", 0.15),
    (OneCore, 1, "64k", true, "dbus-broker", 1.0),
    (OneCore, 1, "1m", true, "dbus-broker", 1.0),
    (Unpinned, 4, "0", false, "dbus-daemon", 1.4),
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
    fn at_most(name: String, value: f64, limit: f64, unit: &'static str) -> Self {
        Target {
            met: value <= limit,
            at_most: true,
            name,
            value,
            limit,
            unit,
        }
    }

    fn at_least(name: String, value: f64, limit: f64, unit: &'static str) -> Self {
        Target {
            at_most: false,
            met: value >= limit,
            ..Target::at_most(name, value, limit, unit)
        }
    }

    fn row(&self) -> [String; 4] {
        let bound = if self.at_most { "most" } else { "least" };
        let (value, limit, unit) = (self.value, self.limit, self.unit);
        let (value, limit) = (
            format!("{value:.2} {unit}"),
            format!("at {bound} {limit} {unit}"),
        );
        let verdict = if self.met { "met" } else { "MISSED" };
        [self.name.clone(), value, limit, verdict.to_string()]
    }
}

/// What a run finds.
#[derive(Default)]
struct Found {
    comparisons: Vec<Value>,
    text: String,
    picture: Option<String>,
    targets: Vec<Target>,
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

type NewTarget = fn(String, f64, f64, &'static str) -> Target;

fn speed_targets(all: &Comparison, setting: Setting) -> Vec<Target> {
    let targets = SPEED_TARGETS.iter().filter(|target| target.0 == setting);
    let found = targets.filter_map(|(_, pairs, bytes, is_time, other, limit)| {
        let is_wanted =
            |group: &&Group| group.cell.pairs == *pairs && group.cell.size == size(bytes);
        let group = all.groups.iter().find(is_wanted)?;
        let (ours, theirs) = (row(all, group, "binder")?, row(all, group, other)?);
        let place = format!("{}, {}", setting.name(), group.title);
        let target = |what: &str, figure: fn(&Figures) -> f64, new: NewTarget| {
            let name = format!("binder, {what} / {other}: {place}");
            Some(new(name, ours.ratio(theirs, figure)?, *limit, "x"))
        };
        match *is_time {
            true => target("round trip", Figures::p50_us, Target::at_most),
            false => target("calls/s", Figures::calls_per_s, Target::at_least),
        }
    });
    found.collect()
}

impl Found {
    fn compare(&mut self, arguments: &Arguments, plan: &Plan) -> Result<()> {
        let (setting, pairs, sizes, is_floors) = *plan;
        let (rounds, duration_ms) = if arguments.quick { (3, 120) } else { (5, 200) };
        let duration = Duration::from_millis(arguments.duration_ms.unwrap_or(duration_ms));
        let usable = sched_getaffinity(None).doing(|| "asking for the CPUs".to_string())?;
        setting.apply(&usable)?;
        let names = match is_floors {
            true => FLOORS.map(String::from).to_vec(),
            false => arguments.peers.clone(),
        };
        let scratch = Scratch::new()?;
        let peers = peer::start(&names, &[], &scratch)?;
        let subjects = peer::subjects(&peers);
        let sizes: Vec<Size> = sizes.iter().map(|one| size(one)).collect();
        let groups = Group::grid(&sizes, pairs, subjects.len(), |_| Cell {
            length: Length::Duration(duration),
            ..Cell::default()
        });
        let mut all = Comparison::new(subjects, groups);
        all.measure(Repeat::Rounds(arguments.rounds.unwrap_or(rounds)))?;
        self.failures.append(&mut all.failures.clone());
        if !is_floors {
            self.targets.extend(speed_targets(&all, setting));
        }
        let beside: Beside = first_to_this;
        let table = all.table(&COLUMNS, Some(("binder/this".to_string(), beside)));
        let arguments = json!({ "setting": setting.name() });
        let figures = all.published("throughput", arguments, String::new(), table);
        self.picture = self.picture.take().or(figures.picture);
        self.comparisons.push(figures.document);
        self.text += &format!("{}:\n{}\n", setting.name(), figures.text);
        Unpinned.apply(&usable)
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    daemon::gain_mount_right()?;
    let mut found = Found::default();
    let plans: &[Plan] = if arguments.quick { &QUICK } else { &FULL };
    for plan in plans {
        found.compare(arguments, plan)?;
    }
    let mut table = Table::new(["target", "measured", "wanted", ""]);
    found.targets.iter().for_each(|one| table.row(one.row()));
    let text = format!(
        "{}{}\n{} of {} targets met, {} measurements failed\n",
        found.text,
        table.text(),
        found.targets.iter().filter(|one| one.met).count(),
        found.targets.len(),
        found.failures.len()
    );
    let figures = Published {
        name: "targets",
        document: json!({
            "bench": "targets",
            "machine": document::machine(),
            "comparisons": found.comparisons,
            "targets": found.targets,
            "failures": found.failures,
        }),
        picture: found.picture,
        text,
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
    fn targets_are_met_or_missed() {
        let all = comparison(&[("binder", &[15, 15]), ("dbus-daemon", &[10, 10])]);
        let [one] = &speed_targets(&all, Unpinned)[..] else {
            panic!("one target is of this place");
        };
        assert_eq!((one.value, one.met), (1.5, true));
        assert!(speed_targets(&all, OneCore).is_empty());
        assert_eq!(
            Target::at_most(String::new(), 2.0, 1.0, "x").row()[3],
            "MISSED"
        );
    }
}
