// SPDX-License-Identifier: Apache-2.0
//! What a comparison measured: for each number of pairs and size, the rounds of each peer.
use crate::cell::Size;
use crate::figures::Rounds;

/// The same cell of every peer.
#[derive(Clone, Copy)]
pub struct Group {
    pub pairs: u32,
    pub size: Size,
}

impl Group {
    /// In words, for tables and messages.
    pub fn name(&self) -> String {
        let plural = if self.pairs == 1 { "" } else { "s" };
        format!("{} pair{plural}, {}", self.pairs, self.size)
    }
}

/// All figures.
pub struct Results {
    pub peers: Vec<String>,
    /// For each group the rounds of each peer, in the order of `peers`.
    pub groups: Vec<(Group, Vec<Rounds>)>,
    /// A sentence for each measurement that did not run.
    pub failures: Vec<String>,
    /// The load average of the machine before the first measurement.
    pub load_before: f64,
}
