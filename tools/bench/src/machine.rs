// SPDX-License-Identifier: Apache-2.0
//! Machines in the emulator (vm/run), each with one kernel and one driver.
//!
//! A machine is booted once and runs one command after another (bench/turns.sh), so that several
//! can measure in turn: wall time on a shared host varies by the minute, and figures that are to be
//! compared are measured within seconds of each other.
use crate::daemon::{die_with_parent, Scratch};
use anybinder_mount::error::{Doing, Error, Result};
use anybinder_mount::interrupt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The emulator runs and counts `rep movsb` byte by byte, so that 4 KiB would be 4,096 instructions
/// in either driver, where processors move 16 to 64 bytes a cycle. Without these flags the kernel
/// copies words of 8 bytes.
const WORD_COPIES: [&str; 2] = ["--append", "clearcpuid=erms,fsrm"];
/// Android's kernels are preemptible, too.
pub const PREEMPTIBLE: [&str; 2] = ["--append", "preempt=full"];
/// The limit of wall time for the boot and all commands.
const LIMIT: Duration = Duration::from_secs(7200);

pub struct Machine {
    name: String,
    child: Child,
    output: BufReader<ChildStdout>,
    /// Commands that were given.
    count: u32,
    /// The guest can write to it.
    pub scratch: Scratch,
}

/// The top of the source tree, which has what the machines need.
pub fn top() -> Result<PathBuf> {
    let own = std::env::current_exe().unwrap_or_default();
    let above = own.ancestors().find(|path| path.join("vm/run").exists());
    above.map(Path::to_path_buf).ok_or_else(|| {
        Error::with_advice(
            "There is no vm/run above this program, which boots the machines.",
            "Run build/bin/anybinder of a source tree in which `make vm-fetch` was run.",
        )
    })
}

impl Machine {
    /// Boots it.
    ///
    /// * `name`: in messages
    /// * `options`: of vm/run
    pub fn boot(name: &str, kernel: &str, options: &[&str]) -> Result<Self> {
        let top = top()?;
        let scratch = Scratch::new()?;
        let mut command = Command::new(top.join("vm/run"));
        command
            .args([
                "--kernel",
                kernel,
                "--timeout",
                &LIMIT.as_secs().to_string(),
            ])
            .args(WORD_COPIES)
            .args(options)
            .arg("--share")
            .arg(&scratch.0)
            .arg("--")
            .arg(top.join("bench/turns.sh"))
            .arg(&scratch.0);
        die_with_parent(&mut command);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .doing(|| "starting vm/run".to_string())?;
        let output = child.stdout.take().expect("piped above");
        Ok(Machine {
            name: name.to_string(),
            child,
            output: BufReader::new(output),
            count: 0,
            scratch,
        })
    }

    /// The next command appears with its content, never empty.
    fn give(&mut self, command: &str) -> Result<()> {
        let path = self.scratch.0.join(self.count.to_string());
        let new = path.with_extension("new");
        std::fs::write(&new, format!("{command}\n"))
            .and_then(|()| std::fs::rename(&new, &path))
            .doing(|| format!("writing {}", path.display()))?;
        self.count += 1;
        Ok(())
    }

    /// Runs a shell command in the machine, which prints one line; returns that. Fails if the
    /// command fails, which ends the machine.
    pub fn run(&mut self, command: &str) -> Result<String> {
        self.give(command)?;
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        interrupt::check()?;
        if read.doing(|| format!("reading what {} prints", self.name))? > 0 {
            return Ok(line);
        }
        let status = self.child.wait();
        Err(Error::with_advice(
            format!("{}: the machine ended: {status:?}.", self.name),
            format!("What it ran last: {command}"),
        ))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.give("exit").is_err() || interrupt::check().is_err() {
            // SAFETY: the child has not been waited for, so its pid cannot have been reused.
            unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        }
        let _ = self.child.wait();
    }
}
