// SPDX-License-Identifier: Apache-2.0
//! The table and the picture of `bench cores`.
use super::account::Counts;
use super::row::Row;
use crate::chart::{self, Chart, Line, Outcome};
use std::path::Path;

/// A count per call: its two lines of heading and the figure.
type Column = (&'static str, &'static str, fn(&Counts) -> f64);

const COLUMNS: [Column; 9] = [
    ("", "switches", |one| one.switches),
    ("requests", "same", |one| one.requests.same),
    ("", "other", |one| one.requests.other),
    ("replies", "same", |one| one.replies.same),
    ("", "other", |one| one.replies.other),
    ("direct", "same", |one| one.direct.same),
    ("", "other", |one| one.direct.other),
    ("", "moved", |one| one.migrations),
    ("", "interrupts", |one| one.interrupts),
];
const WIDTH: usize = 11;

fn line(row: &Row) -> String {
    let figure = |value: Option<f64>, width: usize, decimals: usize| {
        value.map_or(format!("{:>width$}", "-"), |value| {
            format!("{value:>width$.decimals$}")
        })
    };
    let mut text = format!("  {:14}{:10}", row.peer, row.placement);
    text += &figure(row.median(|one| Some(one.calls_per_s)), 10, 0);
    text += &figure(row.median(|one| Some(one.ends_us)), 9, 1);
    text += &figure(row.median(|one| one.daemon_us), 9, 1);
    text += &figure(row.median(|one| Some(one.idle_percent)), 8, 0);
    for (_, _, count) in COLUMNS {
        text += &figure(row.counts.as_ref().map(count), WIDTH, 2);
    }
    text
}

/// The times by which the calls of the line exceed those of the same peer and pairs on one core.
fn gain(row: &Row, rows: &[Row]) -> Option<f64> {
    let one = rows
        .iter()
        .find(|one| (&one.peer, one.pairs) == (&row.peer, row.pairs))?;
    let rate = |row: &Row| row.median(|round| Some(round.calls_per_s));
    Some(rate(row)? / rate(one)?)
}

/// Prints the figures, a line for each placement.
pub fn print(rows: &[Row], rounds: u32, notes: &[String]) {
    println!(
        "medians over {rounds} rounds. ends, daemon: processor time of a call in us. idle: of the \
         cores that may be used.\napart: a daemon and its share of the pairs on each core. gain: \
         calls/s by those on one core.\nper call, from a traced run: switches to a thread of \
         either; wake-ups of the daemon (requests), by the\ndaemon (replies) and between the ends \
         (direct), on the same core and to another; threads that moved;\ninterrupts between \
         cores\n"
    );
    let (upper, lower): (String, String) = COLUMNS
        .iter()
        .map(|(group, name, _)| (format!("{group:>WIDTH$}"), format!("{name:>WIDTH$}")))
        .unzip();
    println!("{:60}{upper}", "");
    println!(
        "  {:24}{:>10}{:>9}{:>9}{:>8}{lower}{:>7}",
        "", "calls/s", "ends", "daemon", "idle %", "gain"
    );
    let mut pairs = 0;
    for row in rows {
        if pairs != row.pairs {
            pairs = row.pairs;
            println!("{pairs} pair{}", if pairs == 1 { "" } else { "s" });
        }
        let gain = gain(row, rows).map_or("-".to_string(), |gain| format!("{gain:.2}"));
        println!("{}{gain:>7}", line(row));
    }
    for note in notes {
        println!("NOTE: {note}");
    }
}

/// Draws calls per second by pairs, a line for each peer and placement.
pub fn draw(path: &Path, rows: &[Row], notes: &[String]) -> Outcome {
    let mut lines: Vec<Line> = Vec::new();
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for row in rows {
        let Some(rate) = row.median(|one| Some(one.calls_per_s)) else {
            continue;
        };
        let x = f64::from(row.pairs);
        let all = || row.rounds.iter().map(|one| one.calls_per_s);
        let bar = (x, all().fold(rate, f64::min), all().fold(rate, f64::max));
        if !ticks.iter().any(|tick| tick.0 == x) {
            ticks.push((x, row.pairs.to_string()));
        }
        let name = format!("{}, {}", row.peer, row.placement);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => {
                line.points.push((x, rate));
                line.bars.push(bar);
            }
            None => lines.push(Line {
                name,
                points: vec![(x, rate)],
                bars: vec![bar],
            }),
        }
    }
    let names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    let chart = Chart {
        title: "calls per second".to_string(),
        x: "pairs",
        y: "calls/s",
        ticks,
        lines,
    };
    chart::draw(path, &[chart], 1, &names, notes)
}
