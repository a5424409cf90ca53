// SPDX-License-Identifier: Apache-2.0
//! The figures of one cell, and of several rounds of it.
use anybinder_mount::error::{Doing, Result};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The quantiles that tables and JSON name.
const QUANTILES: [(&str, f64); 5] = [
    ("p50_us", 0.5),
    ("p90_us", 0.9),
    ("p99_us", 0.99),
    ("p99_9_us", 0.999),
    ("p99_99_us", 0.9999),
];

/// One measurement, as bench-ipc prints it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Figures {
    pub calls: u64,
    pub calls_per_s: f64,
    pub min_us: f64,
    pub avg_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    /// Processor time of clients and servers, per call.
    pub user_us: f64,
    pub system_us: f64,
    /// Processor time of the daemon between them, per call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon_us: Option<f64>,
    /// Pairs of a duration in ns and how often it occurred.
    #[serde(default, skip_serializing)]
    pub histogram_ns: Vec<(u64, u64)>,
}

/// All rounds of a cell.
#[derive(Default)]
pub struct Rounds {
    /// With the number of the round; a round that failed is missing.
    pub figures: Vec<(u32, Figures)>,
}

/// The median; None of no values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

impl Rounds {
    /// The median of one figure over the rounds; None if no round has it.
    pub fn median(&self, figure: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
        median(
            self.figures
                .iter()
                .filter_map(|(_, one)| figure(one))
                .collect(),
        )
    }

    /// The median of the ratios of our figure to that of `other`, each within a round; None if no
    /// round has both.
    pub fn ratio(&self, other: &Rounds, figure: impl Fn(&Figures) -> f64) -> Option<f64> {
        let ratios = self.figures.iter().filter_map(|(round, ours)| {
            let (_, theirs) = other.figures.iter().find(|(number, _)| number == round)?;
            Some(figure(ours) / figure(theirs))
        });
        median(ratios.collect())
    }

    /// The durations of all rounds together.
    pub fn histogram(&self) -> Result<Histogram<u64>> {
        let all = self.figures.iter().flat_map(|(_, one)| &one.histogram_ns);
        histogram_of(all.copied())
    }
}

/// A histogram of pairs of a value in ns and how often it occurred.
pub fn histogram_of(pairs: impl Iterator<Item = (u64, u64)>) -> Result<Histogram<u64>> {
    let doing = || "adding up durations".to_string();
    let mut histogram = Histogram::new(3).doing(doing)?;
    for (value, count) in pairs {
        histogram.record_n(value, count).doing(doing)?;
    }
    Ok(histogram)
}

/// Pairs of a recorded value and how often it occurred; the inverse of `histogram_of`.
pub fn pairs_of(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    histogram
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_at_value()))
        .collect()
}

/// The named quantiles as a JSON object.
pub fn quantiles(histogram: &Histogram<u64>) -> serde_json::Value {
    let named = QUANTILES.iter().map(|(name, share)| {
        let value_us = histogram.value_at_quantile(*share) as f64 / 1000.0;
        (name.to_string(), serde_json::json!(value_us))
    });
    serde_json::Value::Object(named.collect())
}

/// The distribution as points (share of calls, duration in us), which get denser towards 1.
pub fn curve(histogram: &Histogram<u64>) -> Vec<(f64, f64)> {
    let steps = histogram.iter_quantiles(4);
    let mut points: Vec<(f64, f64)> = steps
        .map(|step| {
            (
                step.quantile_iterated_to(),
                step.value_iterated_to() as f64 / 1000.0,
            )
        })
        .collect();
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[(u32, f64)]) -> Rounds {
        let figures = values.iter().map(|(round, p50_us)| {
            let text = format!(
                r#"{{"calls": 1, "calls_per_s": 1, "min_us": 1, "avg_us": 1, "p50_us": {p50_us},
                "p99_us": 1, "max_us": 1, "user_us": 1, "system_us": 1,
                "histogram_ns": [[1000, 3], [2000, 1]]}}"#
            );
            (*round, serde_json::from_str(&text).unwrap())
        });
        Rounds {
            figures: figures.collect(),
        }
    }

    #[test]
    fn the_median_of_an_even_number_is_in_between() {
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let ours = rounds(&[(0, 1.0), (1, 8.0), (2, 3.0)]);
        let theirs = rounds(&[(1, 4.0), (2, 2.0)]);
        assert_eq!(ours.ratio(&theirs, |one| one.p50_us), Some(1.75));
        assert_eq!(ours.ratio(&rounds(&[(9, 1.0)]), |one| one.p50_us), None);
    }

    #[test]
    fn rounds_share_one_histogram() {
        let histogram = rounds(&[(0, 1.0), (1, 1.0)]).histogram().unwrap();
        assert_eq!(histogram.len(), 8);
        assert_eq!(histogram.value_at_quantile(0.5), 1000);
        assert_eq!(curve(&histogram).last().map(|point| point.0), Some(1.0));
    }
}
