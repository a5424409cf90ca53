// SPDX-License-Identifier: Apache-2.0
//! The figures of `bench cores`.
use super::account::Counts;
use crate::figures::median;

/// One measurement.
pub struct Round {
    pub calls_per_s: f64,
    pub ends_us: f64,
    pub daemon_us: Option<f64>,
    pub idle_percent: f64,
}

/// All measurements of a peer, a placement and a number of pairs.
pub struct Row {
    pub peer: String,
    pub placement: &'static str,
    pub pairs: u32,
    pub rounds: Vec<Round>,
    /// Per call; None without the right to trace.
    pub counts: Option<Counts>,
}

impl Row {
    /// The median of one figure over the rounds; None if no round has it.
    pub fn median(&self, figure: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
        median(self.rounds.iter().filter_map(figure).collect())
    }
}
