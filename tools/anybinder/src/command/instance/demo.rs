// SPDX-License-Identifier: Apache-2.0
//! `anybinder demo`: daemon, service manager, service and client at work in a temporary directory.
//!
//! This process starts the daemon, then a service and a client as processes of their own. The
//! client prints one JSON line for each step; this process prints them for people and checks that
//! none is missing, so that a client that dies halfway is an error.
pub mod demo_client;

use anybinder_cli::error::{Doing, Error, Result};
use anybinder_cli::interrupt;
use anybinder_cli::output::say;
use anybinder_mount::context::Context;
use anybinder_mount::mount::{Backend, Mount};
use anybinder_mount::record::Record;
use anybinder_mount::temporary::TemporaryInstance;
use demo_client::{Step, STEPS};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);
/// How often to check for an interrupt.
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many calls to time
    #[arg(long, value_name = "COUNT", default_value_t = 20_000)]
    calls: u32,
}

/// Prints steps for people as they happen, and keeps them for the JSON document at the end.
struct Steps {
    json: bool,
    start: Instant,
    done: Vec<Step>,
}

impl Steps {
    fn show(&mut self, step: Step) {
        if !self.json {
            let verdict = if step.ok { "ok  " } else { "FAIL" };
            say(format_args!("  {verdict} {}", step.text));
            for detail in &step.details {
                say(format_args!("         {detail}"));
            }
        }
        self.done.push(step);
    }

    fn ok(&mut self, name: &str, text: String) {
        self.show(Step::ok(name, text));
    }
}

/// The daemon and its service manager, and the service, which is killed when this is dropped.
struct Demo {
    instance: TemporaryInstance,
    service: Option<Child>,
}

impl Drop for Demo {
    fn drop(&mut self) {
        if let Some(mut service) = self.service.take() {
            let _ = service.kill();
            let _ = service.wait();
        }
    }
}

fn start(instance: &mut TemporaryInstance, steps: &mut Steps) -> Result<Record> {
    let start = Instant::now();
    let record = instance.start("binder")?;
    let took_ms = start.elapsed().as_millis();
    let managers: Vec<String> = record
        .managers
        .iter()
        .map(|manager| manager.serving().pid.to_string())
        .collect();
    steps.ok(
        "daemon",
        format!(
            "daemon at {}, process {}, up in {took_ms} ms",
            instance.mount.path.display(),
            record.daemon_pid()
        ),
    );
    steps.ok(
        "manager",
        format!("service manager, process {}", managers.join(" ")),
    );
    Ok(record)
}

/// Forwards each line of the client, from a thread that ends when the client closes its output.
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
fn follow(client: &mut Child, steps: &mut Steps) -> Result<()> {
    let (sender, lines) = channel();
    forward_lines(client, sender);
    let deadline = Instant::now() + CLIENT_TIMEOUT;
    loop {
        match lines.recv_timeout(INTERRUPT_INTERVAL) {
            Ok(line) => {
                let step = serde_json::from_str(&line).doing(|| "reading a step".to_string())?;
                steps.show(step);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => {
                return Err(Error::with_advice(
                    format!(
                        "The client did not finish within {} s.",
                        CLIENT_TIMEOUT.as_secs()
                    ),
                    "Try with fewer --calls.",
                ));
            }
            Err(RecvTimeoutError::Timeout) => interrupt::check()?,
        }
    }
}

fn show_clients(demo: &mut Demo, steps: &mut Steps, calls: u32) -> Result<()> {
    let service = demo
        .instance
        .mount
        .own_command("demo-service")?
        .spawn()
        .doing(|| "starting the service".to_string())?;
    let service_pid = service.id();
    demo.service = Some(service);
    let mut client = demo
        .instance
        .mount
        .own_command("demo-client")?
        .args(["--service-pid", &service_pid.to_string()])
        .args(["--calls", &calls.to_string(), "--replace"])
        .stdout(Stdio::piped())
        .spawn()
        .doing(|| "starting the client".to_string())?;
    steps.ok(
        "processes",
        format!(
            "AddInts service, process {service_pid}; client, process {}",
            client.id()
        ),
    );
    let followed = follow(&mut client, steps);
    if followed.is_err() {
        let _ = client.kill();
    }
    let status = client
        .wait()
        .doing(|| "waiting for the client".to_string())?;
    followed?;
    if !status.success() {
        return Err(Error::new(format!("The client failed ({status}).")));
    }
    check_killed(demo)
}

/// The service must have ended by the client's SIGKILL and by nothing else.
fn check_killed(demo: &mut Demo) -> Result<()> {
    let mut service = demo.service.take().expect("started above");
    let status = service
        .wait()
        .doing(|| "waiting for the service".to_string())?;
    if status.signal() != Some(libc::SIGKILL) {
        return Err(Error::new(format!(
            "The service was not killed by the client, but ended with {status}."
        )));
    }
    Ok(())
}

fn check_gone(directory: &Path, mount: &Mount, record: &Record) -> Result<()> {
    let running = record.running().is_some()
        || record
            .managers
            .iter()
            .any(|manager| manager.running().is_some());
    if running || mount.backend() != Backend::None || directory.exists() {
        return Err(Error::new(
            "A process, the mount or the directory is left over.",
        ));
    }
    Ok(())
}

fn play(steps: &mut Steps, calls: u32) -> Result<()> {
    let mut demo = Demo {
        instance: TemporaryInstance::new("demo")?,
        service: None,
    };
    let record = start(&mut demo.instance, steps)?;
    show_clients(&mut demo, steps, calls)?;
    let instance = &mut demo.instance;
    instance.stop()?;
    check_gone(&instance.directory, &instance.mount, &record)?;
    steps.ok("down", "everything stopped, nothing left over".to_string());
    for name in STEPS {
        if !steps.done.iter().any(|step| step.name == name && step.ok) {
            return Err(Error::new(format!("The step {name} is missing.")));
        }
    }
    Ok(())
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    let mut steps = Steps {
        json: context.json,
        start: Instant::now(),
        done: Vec::new(),
    };
    if !context.json {
        say("Binder IPC between unmodified clients, served by a daemon:");
    }
    let outcome = play(&mut steps, arguments.calls);
    let took_s = steps.start.elapsed().as_secs_f64();
    let document = serde_json::json!({
        "ok": outcome.is_ok(), "took_s": took_s, "steps": steps.done,
    });
    context.show(&document, |_| {
        let verdict = if outcome.is_ok() {
            "all steps passed"
        } else {
            "FAILED"
        };
        say(format_args!("{verdict}, {took_s:.1} s"));
    });
    outcome.map(|()| ExitCode::SUCCESS)
}
