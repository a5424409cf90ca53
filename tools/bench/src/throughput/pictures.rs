// SPDX-License-Identifier: Apache-2.0
//! The picture of a comparison.
use super::limits;
use super::results::Results;
use crate::chart::{self, Chart, Line, Outcome};
use crate::document;
use crate::figures::{self, Rounds};
use std::path::Path;

/// Draws a row for each size: throughput against pairs, and the distribution of durations.
pub fn draw(path: &Path, results: &Results) -> Outcome {
    let mut sizes = Vec::new();
    for (group, _) in &results.groups {
        if !sizes.contains(&group.size) {
            sizes.push(group.size);
        }
    }
    let of_size = |size| {
        results
            .groups
            .iter()
            .filter(move |(group, _)| group.size == size)
    };
    let mut charts = Vec::new();
    for size in &sizes {
        let line = |number: usize| {
            let points = of_size(*size).filter_map(|(group, all)| {
                let rate = all[number].median(|one| Some(one.calls_per_s))?;
                Some((f64::from(group.pairs), rate))
            });
            points.collect()
        };
        charts.push(Chart {
            title: format!("{size}: calls per second"),
            x: "pairs",
            y: "calls/s",
            ticks: of_size(*size)
                .map(|(group, _)| (f64::from(group.pairs), group.pairs.to_string()))
                .collect(),
            lines: with_bars(named_lines(&results.peers, line), |number| {
                of_size(*size)
                    .filter_map(|(group, all)| bar(group.pairs, &all[number]))
                    .collect()
            }),
        });
        let Some((group, all)) = of_size(*size).min_by_key(|(group, _)| group.pairs) else {
            continue;
        };
        let line = |number: usize| match all[number].histogram() {
            Ok(histogram) => chart::tail_points(figures::curve(&histogram)),
            Err(_) => Vec::new(),
        };
        let plural = if group.pairs == 1 { "" } else { "s" };
        charts.push(Chart {
            title: format!("{size}, {} pair{plural}: duration of a call", group.pairs),
            x: "share of calls",
            y: "us",
            ticks: chart::tail_ticks(),
            lines: named_lines(&results.peers, line),
        });
    }
    let notes = limits::warnings(results, document::cores());
    chart::draw(path, &charts, 2, &results.peers, &notes)
}

/// The slowest and the fastest round.
fn bar(pairs: u32, rounds: &Rounds) -> Option<(f64, f64, f64)> {
    let rates = || rounds.figures.iter().map(|(_, one)| one.calls_per_s);
    let low = rates().min_by(f64::total_cmp)?;
    let high = rates().max_by(f64::total_cmp)?;
    Some((f64::from(pairs), low, high))
}

fn with_bars(lines: Vec<Line>, bars: impl Fn(usize) -> Vec<(f64, f64, f64)>) -> Vec<Line> {
    let lines = lines.into_iter().enumerate();
    lines
        .map(|(number, line)| Line {
            bars: bars(number),
            ..line
        })
        .collect()
}

fn named_lines(names: &[String], points: impl Fn(usize) -> Vec<(f64, f64)>) -> Vec<Line> {
    let lines = names.iter().enumerate().map(|(number, name)| Line {
        name: name.clone(),
        points: points(number),
        bars: Vec::new(),
    });
    lines.collect()
}
