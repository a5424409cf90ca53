// SPDX-License-Identifier: Apache-2.0
//! `anybinder demo`: the whole thing at work, in a temporary place, with nothing left behind.
//!
//! This process brings the home up and starts a service and a client, each a process of its own.
//! The client does the showing: it prints one JSON line for each step, which this process prints
//! for people, and the steps are counted, so that a client that dies halfway is no success.
use super::demo_client::{Step, STEPS};
use anybinder_mount::context::Context;
use anybinder_mount::home::Home;
use anybinder_mount::interrupt;
use anybinder_mount::place::{Note, Place, Served};
use anybinder_mount::trouble::{Doing, Result, Trouble};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

const CLIENT_PATIENCE: Duration = Duration::from_secs(60);
/// How long an interrupt may go unnoticed.
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many calls to time
    #[arg(long, value_name = "COUNT", default_value_t = 20_000)]
    calls: u32,
}

/// Prints steps for people as they happen, or keeps them for one JSON document at the end.
struct Stage {
    json: bool,
    start: Instant,
    steps: Vec<Step>,
}

impl Stage {
    fn show(&mut self, step: Step) {
        if !self.json {
            let mark = if step.ok { "ok  " } else { "FAIL" };
            println!("  {mark} {}", step.text);
            for detail in &step.details {
                println!("         {detail}");
            }
        }
        self.steps.push(step);
    }

    fn ok(&mut self, name: &str, text: String) {
        self.show(Step::ok(name, text));
    }
}

fn bring_up(home: &mut Home, stage: &mut Stage) -> Result<()> {
    let start = Instant::now();
    let note = home.bring_up("binder")?;
    let mount = home.place.mount.display();
    let took_ms = start.elapsed().as_millis();
    let managers: Vec<String> = note
        .managers
        .iter()
        .map(|m| m.process.pid.to_string())
        .collect();
    stage.ok(
        "home",
        format!(
            "userspace home at {mount}, daemon {}, up in {took_ms} ms",
            note.daemon.pid
        ),
    );
    stage.ok(
        "manager",
        format!("service manager, process {}", managers.join(" ")),
    );
    Ok(())
}

/// Sends each line of the client on; ends when the client closes its output.
fn forward_lines(client: &mut Child, lines: Sender<String>) {
    let output = client.stdout.take().expect("the client's output is piped");
    std::thread::spawn(move || {
        for line in BufReader::new(output)
            .lines()
            .map_while(std::result::Result::ok)
        {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
}

/// Shows the client's steps until its output ends.
fn follow(client: &mut Child, stage: &mut Stage) -> Result<()> {
    let (sender, lines) = channel();
    forward_lines(client, sender);
    let deadline = Instant::now() + CLIENT_PATIENCE;
    loop {
        match lines.recv_timeout(INTERRUPT_INTERVAL) {
            Ok(line) => {
                let step = serde_json::from_str(&line).doing(|| "reading a step".to_string())?;
                stage.show(step);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => {
                return Err(Trouble::new("The client did not finish in time."));
            }
            Err(RecvTimeoutError::Timeout) => interrupt::check()?,
        }
    }
}

fn show_clients(home: &mut Home, stage: &mut Stage, calls: u32) -> Result<()> {
    let service = home
        .role("demo-service")?
        .spawn()
        .doing(|| "starting the service".to_string())?;
    let service_pid = service.id();
    home.service = Some(service);
    let mut client = home
        .role("demo-client")?
        .args(["--service-pid", &service_pid.to_string()])
        .args(["--calls", &calls.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .doing(|| "starting the client".to_string())?;
    stage.ok(
        "processes",
        format!(
            "AddInts service, process {service_pid}; client, process {}",
            client.id()
        ),
    );
    let followed = follow(&mut client, stage);
    if followed.is_err() {
        let _ = client.kill();
    }
    let status = client
        .wait()
        .doing(|| "waiting for the client".to_string())?;
    followed?;
    if !status.success() {
        return Err(Trouble::new(format!("The client failed ({status}).")));
    }
    check_killed(home)
}

/// The service must have ended by the client's SIGKILL and by nothing else.
fn check_killed(home: &mut Home) -> Result<()> {
    let mut service = home.service.take().expect("started above");
    let status = service
        .wait()
        .doing(|| "waiting for the service".to_string())?;
    if status.signal() != Some(libc::SIGKILL) {
        return Err(Trouble::new(format!(
            "The service ended otherwise: {status}."
        )));
    }
    Ok(())
}

fn check_gone(directory: &Path, place: &Place, note: &Note) -> Result<()> {
    let running = note.daemon.is_running() || note.managers.iter().any(|m| m.process.is_running());
    if running || place.served() != Served::Not || directory.exists() {
        return Err(Trouble::new("Something is left behind."));
    }
    Ok(())
}

fn play(stage: &mut Stage, calls: u32) -> Result<()> {
    let mut home = Home::new("demo")?;
    bring_up(&mut home, stage)?;
    show_clients(&mut home, stage, calls)?;
    let note = home.note.clone().expect("brought up above");
    home.take_down()?;
    check_gone(&home.directory, &home.place, &note)?;
    stage.ok(
        "down",
        "everything taken down, nothing left behind".to_string(),
    );
    for name in STEPS {
        if !stage.steps.iter().any(|step| step.name == name && step.ok) {
            return Err(Trouble::new(format!("The step {name} did not happen.")));
        }
    }
    Ok(())
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::outlive();
    let mut stage = Stage {
        json: context.json,
        start: Instant::now(),
        steps: Vec::new(),
    };
    if !context.json {
        println!("Binder IPC between unmodified clients, served by a daemon:");
    }
    let outcome = play(&mut stage, arguments.calls);
    let took_s = stage.start.elapsed().as_secs_f64();
    let document = serde_json::json!({
        "ok": outcome.is_ok(), "took_s": took_s, "steps": stage.steps,
    });
    context.show(&document, |_| {
        let verdict = if outcome.is_ok() {
            "all of it worked"
        } else {
            "FAILED"
        };
        println!("{verdict}, {took_s:.1} s");
    });
    outcome.map(|()| ExitCode::SUCCESS)
}
