// SPDX-License-Identifier: Apache-2.0
//! What is gathered for one sample while its rows are filled: names, backlogs, and marks.
use super::rows::{Mark, ProcessRow};
use crate::command::observing::system::backlog::Backlog;
use crate::command::observing::system::known::Known;
use std::collections::HashMap;
use std::sync::Arc;

/// What is gathered for one sample.
pub struct Seen<'a> {
    pub names: &'a HashMap<u64, String>,
    pub known: Arc<Known>,
    pub commands: HashMap<u32, String>,
    /// By node.
    pub backlogs: HashMap<u64, Backlog>,
    pub marks: Vec<Mark>,
}

impl Seen<'_> {
    pub fn command(&self, pid: u32) -> String {
        match self.commands.get(&pid) {
            Some(command) => command.clone(),
            None => self.known.command(pid),
        }
    }

    pub fn mark(&mut self, row: &mut ProcessRow, name: &'static str, why: String) {
        mark(&mut self.marks, row, name, why);
    }
}

/// Marks a row, once with each mark, and notes why.
pub fn mark(marks: &mut Vec<Mark>, row: &mut ProcessRow, name: &'static str, why: String) {
    if !row.marks.contains(&name) {
        row.marks.push(name);
    }
    marks.push(Mark {
        mark: name,
        pid: row.pid,
        command: row.command.clone(),
        why,
    });
}
