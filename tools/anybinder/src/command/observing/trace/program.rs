// SPDX-License-Identifier: Apache-2.0
//! The program that a trace was asked to start, and which calls are due to it.
use anybinder_cli::error::{Doing, Result};
use anybinder_events::calls::Call;
use anybinder_mount::mount::Mount;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitCode, ExitStatus};

pub struct Program {
    child: Child,
    ended: Option<ExitStatus>,
    /// Processes that existed before it.
    before: HashSet<i32>,
    /// Whether a process is the program or descends from it.
    family: HashMap<i32, bool>,
    /// Calls that the program made, and those made to serve them, as long as they are not over.
    calls: HashSet<u32>,
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = stat.rsplit_once(')')?.1;
    rest.split_whitespace().nth(1)?.parse().ok()
}

impl Program {
    /// Starts it as `anybinder run` does.
    pub fn start(mount: &Mount, command: &[OsString]) -> Result<Self> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let before = entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        let child = mount
            .own_command("run")?
            .arg("--")
            .args(command)
            .spawn()
            .doing(|| format!("starting {}", command[0].to_string_lossy()))?;
        let family = HashMap::from([(child.id() as i32, true)]);
        Ok(Program {
            child,
            ended: None,
            before,
            family,
            calls: HashSet::new(),
        })
    }

    /// Decides whether a process is of the family. One that has ended already is, if it is younger
    /// than the program: nothing says any more who started it.
    pub fn see(&mut self, pid: i32) {
        let mut path = Vec::new();
        let mut next = Some(pid);
        let mut found = false;
        while let Some(pid) = next.filter(|pid| *pid > 1) {
            if let Some(known) = self.family.get(&pid) {
                found = *known;
                break;
            }
            path.push(pid);
            next = parent_of(pid);
            found = next.is_none() && !self.before.contains(&pid);
        }
        self.family.extend(path.into_iter().map(|pid| (pid, found)));
    }

    pub fn has(&self, pid: i32) -> bool {
        self.family.get(&pid).is_some_and(|is_family| *is_family)
    }

    /// A call begins. Did the program make it, is it made, at whatever depth, to serve such a call,
    /// or does it go to the program?
    pub fn begin(&mut self, call: &Call) -> bool {
        self.see(call.to.pid);
        let parent = call.parent;
        let is_due = self.has(call.from.pid)
            || self.has(call.to.pid)
            || parent.is_some_and(|parent| self.calls.contains(&parent));
        if is_due {
            self.calls.insert(call.id);
        }
        is_due
    }

    /// A call is over. Is it due to the program?
    pub fn end(&mut self, call: &Call) -> bool {
        self.calls.remove(&call.id) || self.has(call.from.pid)
    }

    pub fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().unwrap_or(None);
        }
        self.ended.is_some()
    }

    /// The exit status that a shell gives: 128 and the signal's number for a program that was
    /// killed.
    pub fn exit_code(&mut self) -> ExitCode {
        let Some(status) = self.ended else {
            return ExitCode::SUCCESS;
        };
        let code = status.code().or(status.signal().map(|signal| 128 + signal));
        ExitCode::from(code.map_or(1, |code| code as u8))
    }
}
