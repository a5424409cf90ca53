// SPDX-License-Identifier: Apache-2.0
//! The table of a comparison.
use super::limits;
use super::results::Results;
use crate::document;
use crate::figures::{Figures, Rounds};
use anybinder_mount::error::Result;

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
    ("ends us/call", 14, 1, |one| {
        Some(one.user_us + one.system_us)
    }),
    ("daemon us/call", 16, 1, |one| one.daemon_us),
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
    let spread = limits::spread_percent(rounds, |one| one.calls_per_s);
    let spread = spread.map_or("-".to_string(), |spread| format!("{spread:.0}"));
    let times = match first.ratio(rounds, |one| one.p50_us) {
        Some(ratio) if !is_first => format!("{ratio:.2}"),
        _ => String::new(),
    };
    Ok(format!(
        "  {name:14}{}{tail_us:>10.1}{}{spread:>6}{times:>16}",
        cells(&BEFORE, rounds),
        cells(&AFTER, rounds)
    ))
}

/// Prints the figures, a line for each peer, and what they cannot show.
///
/// * `rounds`: how many were asked for
pub fn print(results: &Results, rounds: u32) -> Result<()> {
    println!(
        "medians over {rounds} rounds (p99.9: over all calls). +- %: how far calls/s of a round is \
         from the median.\nends, daemon: processor time per call of both ends, and of the daemon \
         between them.\nthe last column: p50 of {} divided by p50 of the line, the \
         median of the ratios of the rounds\n",
        results.peers[0]
    );
    println!(
        "  {:14}{}{:>10}{}{:>6}{:>16}",
        "",
        headings(&BEFORE),
        "p99.9 us",
        headings(&AFTER),
        "+- %",
        format!("{}/this", results.peers[0])
    );
    for (group, all) in &results.groups {
        println!("{}", group.name());
        for (number, (name, rounds)) in results.peers.iter().zip(all).enumerate() {
            println!("{}", table_line(name, rounds, &all[0], number == 0)?);
        }
    }
    for warning in limits::warnings(results, document::cores()) {
        println!("NOTE: {warning}");
    }
    Ok(())
}
