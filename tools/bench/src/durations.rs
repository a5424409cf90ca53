// SPDX-License-Identifier: Apache-2.0
//! Durations of calls: exact extremes and average, quantiles to three digits.
use crate::figures::pairs_of;
use anybinder_mount::error::{Doing, Result};
use hdrhistogram::Histogram;

pub struct Durations {
    histogram: Histogram<u64>,
    total_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

impl Durations {
    pub fn new() -> Result<Self> {
        Ok(Durations {
            histogram: Histogram::new(3).doing(|| "making a histogram".to_string())?,
            total_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        })
    }

    /// Adds the duration of one call.
    pub fn record(&mut self, took_ns: u64) -> Result<()> {
        self.total_ns += took_ns;
        self.min_ns = self.min_ns.min(took_ns);
        self.max_ns = self.max_ns.max(took_ns);
        self.histogram
            .record(took_ns)
            .doing(|| "recording a duration".to_string())
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

    /// Pairs of a duration in ns and the number of calls that took it.
    pub fn pairs(&self) -> Vec<(u64, u64)> {
        pairs_of(&self.histogram)
    }
}
