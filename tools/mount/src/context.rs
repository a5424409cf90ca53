// SPDX-License-Identifier: Apache-2.0
//! What every command is given: the mount that it works on, and how to print.
use crate::mount::Mount;
use anybinder_cli::output;

/// The options common to all commands.
pub struct Context {
    pub mount: Mount,
    /// The mount is one that the user chose, not the default.
    pub is_mount_named: bool,
    /// Print JSON instead of text.
    pub json: bool,
}

impl Context {
    /// Prints `value` as JSON, or calls `text` to print it for people.
    pub fn show<T: serde::Serialize>(&self, value: &T, text: impl FnOnce(&T)) {
        output::show(self.json, value, text);
    }
}
