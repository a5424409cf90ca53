// SPDX-License-Identifier: Apache-2.0
//! The levels that a client may have.
use anybinder_driver::level::{Level, LEVELS};
use std::fmt;

const fn bit(level: Level) -> u16 {
    1 << level as u16
}

/// A set of levels.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct LevelSet(u16);

impl LevelSet {
    pub const LEGACY_9: LevelSet = LevelSet(bit(Level::A9));
    pub const LEGACY_10: LevelSet = LevelSet(bit(Level::A10));
    /// Every level with a header word.
    pub const AIDL: LevelSet = LevelSet(0x1fc);

    pub fn insert(&mut self, level: Level) {
        self.0 |= bit(level);
    }

    pub fn contains(self, level: Level) -> bool {
        self.0 & bit(level) != 0
    }

    pub fn intersection(self, other: LevelSet) -> LevelSet {
        LevelSet(self.0 & other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn is_single(self) -> bool {
        self.0.is_power_of_two()
    }

    pub fn iter(self) -> impl Iterator<Item = Level> {
        LEVELS
            .into_iter()
            .filter(move |level| self.contains(*level))
    }
}

impl fmt::Display for LevelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            LevelSet(0) => return f.write_str("no known level"),
            LevelSet::AIDL => return f.write_str("Android 11 or newer"),
            _ => {}
        }
        let names: Vec<String> = self.iter().map(|level| level.to_string()).collect();
        f.write_str(&names.join(", or "))
    }
}

impl fmt::Debug for LevelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
