// SPDX-License-Identifier: Apache-2.0
//! What differs in parcels between Android releases.
use std::fmt;
use std::str::FromStr;

/// A release range with one wire format. Android 15 has three: releases r1 to r5 are numbered as
/// Android 14, r6 inserted getService2, and r20 changed the contents of the `Service` union.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    A9,
    A10,
    A11,
    A12,
    A13,
    A14,
    A15R6,
    A15R20,
    #[default]
    A16,
}

pub const LEVELS: [Level; 9] = [
    Level::A9,
    Level::A10,
    Level::A11,
    Level::A12,
    Level::A13,
    Level::A14,
    Level::A15R6,
    Level::A15R20,
    Level::A16,
];

/// The name of a level, and its spellings: API levels, and releases of Android 15.
type Names = (&'static str, &'static [&'static str]);

const NAMES: [Names; LEVELS.len()] = [
    ("Android 9", &["28"]),
    ("Android 10", &["29"]),
    ("Android 11", &["30"]),
    ("Android 12", &["31", "32"]),
    ("Android 13", &["33"]),
    ("Android 14 (or 15 before r6)", &["34", "35-r1"]),
    ("Android 15 r6 to r19", &["35-r6"]),
    ("Android 15 from r20 on", &["35-r20", "35"]),
    ("Android 16 or 17", &["36", "37"]),
];

/// Every accepted spelling.
fn spellings() -> impl Iterator<Item = (&'static str, Level)> {
    let of_level = |(level, (_, all)): (Level, Names)| all.iter().map(move |one| (*one, level));
    let others = [("legacy", Level::A9), ("newest", Level::A16)];
    LEVELS
        .into_iter()
        .zip(NAMES)
        .flat_map(of_level)
        .chain(others)
}

impl Level {
    /// The shortest spelling.
    pub fn spelling(self) -> &'static str {
        NAMES[self as usize].1[0]
    }

    /// Whether the parcels have no header word, no stability, and replies without an exception.
    pub fn is_legacy(self) -> bool {
        self <= Level::A10
    }

    /// How binders are followed by their stability.
    pub fn stability_form(self) -> StabilityForm {
        match self {
            Level::A9 | Level::A10 => StabilityForm::Absent,
            Level::A12 => StabilityForm::Category,
            _ => StabilityForm::Plain,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES[*self as usize].0)
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Level, String> {
        let known = spellings().find(|(spelling, _)| *spelling == text);
        known.map(|(_, level)| level).ok_or_else(|| {
            let all: Vec<&str> = spellings().map(|(spelling, _)| spelling).collect();
            format!("{text} is no API level; the levels are {}", all.join(", "))
        })
    }
}

/// What follows a flattened binder in a parcel. Android 12 alone packs a version (1), two reserved
/// bytes and the stability; the other levels with a header word write the stability as an int32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StabilityForm {
    Absent,
    Plain,
    Category,
}

/// Which clients of a binder may call it: only their own module, vendor code, the system, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stability(u8);

const CATEGORY_VERSION: u32 = 1;

impl Stability {
    pub const UNDECLARED: Stability = Stability(0);
    pub const SYSTEM: Stability = Stability(0x0c);
    /// The stability of objects that system and vendor code share, and that a manifest declares.
    pub const VINTF: Stability = Stability(0x3f);
    const KNOWN: [u8; 4] = [0, 0x03, 0x0c, 0x3f];

    /// The stability in a word of a parcel and the form that it is written in.
    pub fn read(word: i32) -> Option<(Stability, StabilityForm)> {
        let word = word as u32;
        let known = |value: u32| {
            let byte = u8::try_from(value).ok()?;
            Stability::KNOWN.contains(&byte).then_some(Stability(byte))
        };
        if let Some(stability) = known(word) {
            return Some((stability, StabilityForm::Plain));
        }
        let is_category = word & 0x00ff_ffff == CATEGORY_VERSION;
        let stability = known(word >> 24).filter(|_| is_category)?;
        Some((stability, StabilityForm::Category))
    }

    /// The word for a parcel; None where the form has none.
    pub fn word(self, form: StabilityForm) -> Option<i32> {
        match form {
            StabilityForm::Absent => None,
            StabilityForm::Plain => Some(self.0.into()),
            StabilityForm::Category => Some(((u32::from(self.0) << 24) | CATEGORY_VERSION) as i32),
        }
    }

    /// As Android names it.
    pub fn name(self) -> &'static str {
        match self.0 {
            0 => "undeclared stability",
            0x03 => "vendor stability",
            0x0c => "system stability",
            _ => "vintf stability",
        }
    }

    /// From Android 11 on, no client calls a binder without a declared stability, so that a service
    /// of an older level is handed on as one of the system.
    pub fn or_system(self) -> Stability {
        match self {
            Stability::UNDECLARED => Stability::SYSTEM,
            declared => declared,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stability_is_read_in_both_forms() {
        let system = Stability::SYSTEM;
        for form in [StabilityForm::Plain, StabilityForm::Category] {
            let word = system.word(form).unwrap();
            assert_eq!(Stability::read(word), Some((system, form)));
        }
        assert_eq!(system.word(StabilityForm::Category), Some(0x0c00_0001));
        assert_eq!(Stability::read(0x7777), None);
        assert_eq!(Stability::read(0x0c00_0002), None);
    }

    #[test]
    fn every_spelling_is_a_level() {
        for (text, level) in spellings() {
            assert_eq!(text.parse::<Level>(), Ok(level));
        }
        assert_eq!("32".parse(), Ok(Level::A12));
        assert_eq!("35-r1".parse(), Ok(Level::A14));
        assert_eq!("35".parse(), Ok(Level::A15R20));
        assert_eq!("37".parse(), Ok(Level::A16));
        assert_eq!(Level::A15R20.to_string(), "Android 15 from r20 on");
        let all = "28, 29, 30, 31, 32, 33, 34, 35-r1, 35-r6, 35-r20, 35, 36, 37, legacy, newest";
        let why = "27".parse::<Level>().unwrap_err();
        assert_eq!(why, format!("27 is no API level; the levels are {all}"));
    }
}
