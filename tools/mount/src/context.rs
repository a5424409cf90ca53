// SPDX-License-Identifier: Apache-2.0
//! Where a command works and how it prints.
use crate::place::Place;

/// Where a command works and how it prints.
pub struct Context {
    pub place: Place,
    pub json: bool,
}

impl Context {
    /// Prints a value as JSON, or lets `text` print it for people.
    pub fn show<T: serde::Serialize>(&self, value: &T, text: impl FnOnce(&T)) {
        if self.json {
            let line = serde_json::to_string_pretty(value).expect("own types become JSON");
            println!("{line}");
        } else {
            text(value);
        }
    }
}
