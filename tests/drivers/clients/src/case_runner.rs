// SPDX-License-Identifier: Apache-2.0
//! Runs cases, each in a separate process group with a time limit, and counts the results.
use crate::cases::{self, Case};
use crate::EXIT_SKIPPED;
use rustix::process::{kill_process_group, Pid, Signal};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Options {
    /// Run the cases whose name contains this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,

    /// Give each case this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,

    /// Start this service manager first, and stop it at the end: a program and its arguments,
    /// up to the end of the line
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true)]
    manager: Vec<String>,

    /// List the cases
    #[arg(long)]
    list: bool,
}

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

fn kill_group(child: &Child) {
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        // The group is empty if the case has ended all its processes.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Waits for the end of the process; None if it takes too long.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn run_case(mount: &Path, case: &Case, limit: Duration) -> std::io::Result<Outcome> {
    let mut output = File::from(rustix::fs::memfd_create(
        "output",
        rustix::fs::MemfdFlags::CLOEXEC,
    )?);
    let mut child = Command::new(std::env::current_exe()?)
        .arg("--mount")
        .arg(mount)
        .args(["case", case.name])
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .process_group(0)
        .spawn()?;
    let status = wait(&mut child, limit)?;
    kill_group(&child);
    child.wait()?;
    let mut words = String::new();
    output.rewind()?;
    output.read_to_string(&mut words)?;
    let words = words.trim().replace('\n', "\n       ");
    Ok(match status {
        None => Outcome::Failed(format!(
            "took longer than {} s\n       {words}",
            limit.as_secs()
        )),
        Some(status) if status.success() => Outcome::Passed,
        Some(status) if status.code() == Some(i32::from(EXIT_SKIPPED)) => Outcome::Skipped(words),
        Some(status) => Outcome::Failed(format!("{words} ({status})")),
    })
}

/// A service manager that the runner has started; dropping it stops it.
struct Manager(Child);

impl Drop for Manager {
    fn drop(&mut self) {
        kill_group(&self.0);
        let _ = self.0.wait();
    }
}

impl Manager {
    fn start(command: &[String]) -> std::io::Result<Option<Self>> {
        let Some((program, arguments)) = command.split_first() else {
            return Ok(None);
        };
        let child = Command::new(PathBuf::from(program))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Some(Manager(child)))
    }
}

/// The cases wait for a service to be registered, but not for the service manager itself.
fn wait_for_manager(mount: &Path, limit: Duration) -> bool {
    let ready = cases::all().find(|case| case.name == "an_unknown_name_is_not_found");
    let probe = ready.expect("the case is in the list");
    let start = Instant::now();
    while start.elapsed() < limit {
        if matches!(run_case(mount, probe, limit), Ok(Outcome::Passed)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

pub fn run(mount: &Path, options: &Options) -> ExitCode {
    let chosen: Vec<&Case> = cases::all()
        .filter(|case| case.name.contains(&options.filter))
        .collect();
    if options.list {
        chosen.iter().for_each(|case| println!("{}", case.name));
        return ExitCode::SUCCESS;
    }
    let limit = Duration::from_secs(options.timeout);
    let manager = Manager::start(&options.manager);
    if let Err(err) = &manager {
        println!("the service manager cannot be started: {err}");
        return ExitCode::FAILURE;
    }
    if !wait_for_manager(mount, limit) {
        println!("no service manager answers at {}", mount.display());
        return ExitCode::FAILURE;
    }
    let mut failed = 0;
    for (case, number) in chosen.iter().zip(1..) {
        let outcome = run_case(mount, case, limit)
            .unwrap_or_else(|err| Outcome::Failed(format!("cannot be run: {err}")));
        let name = case.name;
        match outcome {
            Outcome::Passed => println!("ok {number} - {name}"),
            Outcome::Failed(why) => {
                println!("{why}\nnot ok {number} - {name}");
                failed += 1;
            }
            Outcome::Skipped(why) => println!("ok {number} - {name} # SKIP {why}"),
        }
    }
    println!("1..{}", chosen.len());
    if failed > 0 || chosen.is_empty() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
