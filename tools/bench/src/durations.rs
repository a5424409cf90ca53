// SPDX-License-Identifier: Apache-2.0
//! Durations of calls: exact extremes and average, quantiles to three digits.
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

/// Durations as programs pass them on: what is exact, and pairs of a duration and how often it
/// occurred.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Record {
    pub calls: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub total_ns: u64,
    pub histogram_ns: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "Record", into = "Record")]
pub struct Durations {
    histogram: Histogram<u64>,
    total_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

impl Default for Durations {
    fn default() -> Self {
        Durations {
            histogram: Histogram::new(3).expect("three digits are possible"),
            total_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl TryFrom<Record> for Durations {
    type Error = hdrhistogram::RecordError;

    fn try_from(record: Record) -> std::result::Result<Self, Self::Error> {
        let mut all = Durations::default();
        for (value, count) in record.histogram_ns {
            all.histogram.record_n(value, count)?;
        }
        if record.calls > 0 {
            (all.min_ns, all.max_ns) = (record.min_ns, record.max_ns);
            all.total_ns = record.total_ns;
        }
        Ok(all)
    }
}

impl From<Durations> for Record {
    fn from(all: Durations) -> Record {
        let steps = all.histogram.iter_recorded();
        Record {
            calls: all.calls(),
            min_ns: all.min_ns,
            max_ns: all.max_ns,
            total_ns: all.total_ns,
            histogram_ns: steps
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect(),
        }
    }
}

impl Durations {
    /// Adds the duration of one call.
    pub fn record(&mut self, took_ns: u64) -> Result<()> {
        self.total_ns += took_ns;
        self.min_ns = self.min_ns.min(took_ns);
        self.max_ns = self.max_ns.max(took_ns);
        self.histogram
            .record(took_ns)
            .doing(|| "recording a duration".to_string())
    }

    /// Adds those of `other`.
    pub fn add(&mut self, other: &Durations) {
        self.total_ns += other.total_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        let added = self.histogram.add(&other.histogram);
        added.expect("a histogram that grows by itself takes all values");
    }

    pub fn sum<'a>(all: impl Iterator<Item = &'a Durations>) -> Durations {
        all.fold(Durations::default(), |mut sum, one| {
            sum.add(one);
            sum
        })
    }

    pub fn calls(&self) -> u64 {
        self.histogram.len()
    }

    /// The shortest call. Meaningless, like `max_us` and `avg_us`, before the first `record`.
    pub fn min_us(&self) -> f64 {
        us(self.min_ns)
    }

    pub fn max_us(&self) -> f64 {
        us(self.max_ns)
    }

    pub fn avg_us(&self) -> f64 {
        us(self.total_ns) / self.calls() as f64
    }

    /// The duration that `share` (0 to 1) of all calls do not exceed.
    pub fn quantile_us(&self, share: f64) -> f64 {
        us(self.histogram.value_at_quantile(share))
    }

    /// The named quantiles as a JSON object.
    pub fn quantiles(&self) -> serde_json::Value {
        let named = QUANTILES.iter().map(|(name, share)| {
            let value_us = self.quantile_us(*share);
            (name.to_string(), serde_json::json!(value_us))
        });
        serde_json::Value::Object(named.collect())
    }

    /// The distribution as points (share of calls, duration in us), which get denser towards 1.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let steps = self.histogram.iter_quantiles(4);
        let mut points: Vec<(f64, f64)> = steps
            .map(|step| (step.quantile_iterated_to(), us(step.value_iterated_to())))
            .collect();
        points.dedup();
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_added_up() {
        let text = r#"{"calls": 4, "min_ns": 900, "max_ns": 2001, "total_ns": 5000,
                       "histogram_ns": [[1000, 3], [2000, 1]]}"#;
        let one: Durations = serde_json::from_str(text).unwrap();
        let two = Durations::sum([&one, &one].into_iter());
        assert_eq!((two.calls(), two.quantile_us(0.5)), (8, 1.0));
        assert_eq!(
            (two.min_us(), two.avg_us(), two.max_us()),
            (0.9, 1.25, 2.001)
        );
        assert_eq!(two.curve().last().map(|point| point.0), Some(1.0));
        assert_eq!(serde_json::to_value(&two).unwrap()["histogram_ns"][0][1], 6);
    }

    #[test]
    fn nothing_recorded_changes_nothing() {
        let text = r#"{"calls": 0, "min_ns": 0, "max_ns": 0, "total_ns": 0, "histogram_ns": []}"#;
        let mut all = Durations::default();
        all.record(1000).unwrap();
        all.add(&serde_json::from_str(text).unwrap());
        assert_eq!((all.calls(), all.min_us()), (1, 1.0));
    }
}
