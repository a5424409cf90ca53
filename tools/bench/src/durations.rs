// SPDX-License-Identifier: Apache-2.0
//! Durations of calls: an exact average, and quantiles to three digits.
use anybinder_mount::error::{Doing, Result};
use hdrhistogram::Histogram;
use serde::Deserialize;

/// The quantiles that JSON names.
const QUANTILES: [(&str, f64); 5] = [
    ("p50_us", 0.5),
    ("p90_us", 0.9),
    ("p99_us", 0.99),
    ("p99_9_us", 0.999),
    ("p99_99_us", 0.9999),
];

/// Durations as bench-ipc prints them: their sum, and pairs of a duration and how often it
/// occurred.
#[derive(Deserialize)]
struct Record {
    total_ns: u64,
    histogram_ns: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Record")]
pub struct Durations {
    histogram: Histogram<u64>,
    total_ns: u64,
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

impl Default for Durations {
    fn default() -> Self {
        Durations {
            histogram: Histogram::new(3).expect("three digits are possible"),
            total_ns: 0,
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
        all.total_ns = record.total_ns;
        Ok(all)
    }
}

impl Durations {
    /// Adds the duration of one call.
    pub fn record(&mut self, took_ns: u64) -> Result<()> {
        self.total_ns += took_ns;
        let recorded = self.histogram.record(took_ns);
        recorded.doing(|| "recording a duration".to_string())
    }

    pub fn sum<'a>(all: impl Iterator<Item = &'a Durations>) -> Durations {
        all.fold(Durations::default(), |mut sum, one| {
            sum.total_ns += one.total_ns;
            let added = sum.histogram.add(&one.histogram);
            added.expect("a histogram that grows by itself takes all values");
            sum
        })
    }

    pub fn calls(&self) -> u64 {
        self.histogram.len()
    }

    pub fn min_us(&self) -> f64 {
        us(self.histogram.min())
    }

    pub fn max_us(&self) -> f64 {
        us(self.histogram.max())
    }

    /// The average; not a number before the first `record`.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_added_up() {
        let text = r#"{"total_ns": 5000, "histogram_ns": [[1000, 3], [2000, 1]]}"#;
        let one: Durations = serde_json::from_str(text).unwrap();
        let mut two = Durations::sum([&one, &one].into_iter());
        assert_eq!((two.calls(), two.quantile_us(0.5)), (8, 1.0));
        assert_eq!((two.min_us(), two.avg_us(), two.max_us()), (1.0, 1.25, 2.0));
        two.record(10_000).unwrap();
        assert_eq!((two.calls(), two.max_us()), (9, 10.007));
    }
}
