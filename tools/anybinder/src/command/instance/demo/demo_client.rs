// SPDX-License-Identifier: Apache-2.0
//! The client process of the demo; it prints one JSON line for each step.
use anybinder_bench::durations::Durations;
use anybinder_cli::error::{Doing, Error, Result};
use anybinder_cli::output::say;
use anybinder_client::addints::{self, aidl::IAddInts, open_text, read_text};
use anybinder_mount::context::Context;
use anybinder_mount::generation::{self, HandOver};
use anybinder_mount::mount::Mount;
use rsbinder::{DeathRecipient, Interface, StatusCode, Strong, WIBinder};
use rustix::process::{kill_process, Pid, Signal};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The steps of the demo, in this process or in the one that started it.
pub const STEPS: [&str; 10] = [
    "daemon",
    "manager",
    "processes",
    "sums",
    "file-to-service",
    "file-from-service",
    "round-trip",
    "replaced",
    "death",
    "down",
];

const SUMS: i32 = 1_000;
const WARM_UP_CALLS: u32 = 500;
/// Calls that are made before the daemon is asked to be replaced, and after it was.
const CALLS_AROUND: u32 = 500;
const DEATH_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[arg(long)]
    service_pid: i32,
    #[arg(long)]
    calls: u32,
    /// Have the daemon replaced, which the user who started it may
    #[arg(long)]
    replace: bool,
}

#[derive(Serialize, Deserialize)]
pub struct Step {
    pub name: String,
    pub ok: bool,
    pub text: String,
    pub details: Vec<String>,
    pub numbers: serde_json::Value,
}

impl Step {
    pub fn ok(name: &str, text: String) -> Self {
        Step {
            name: name.to_string(),
            ok: true,
            text,
            details: Vec::new(),
            numbers: serde_json::Value::Null,
        }
    }
}

type Service = Strong<dyn IAddInts>;

fn check(right: bool, what: impl FnOnce() -> String) -> Result<()> {
    if right {
        Ok(())
    } else {
        Err(Error::new(what()))
    }
}

fn sums(service: &Service) -> Result<Step> {
    for i in 0..SUMS {
        // Numbers of every magnitude and both signs.
        let (a, b) = (i.wrapping_mul(48_271), i.wrapping_mul(-69_621) ^ 0x5555);
        let sum = service.add(a, b).doing(|| format!("adding {a} and {b}"))?;
        let right = a.wrapping_add(b);
        check(sum == right, || {
            format!("{a} + {b} gave {sum} instead of {right}.")
        })?;
    }
    Ok(Step::ok(
        "sums",
        format!("{SUMS} sums computed by the service, all right"),
    ))
}

pub fn file_to_service(service: &Service) -> Result<Step> {
    let text = format!("written by client {}", std::process::id());
    let file = open_text(&text).doing(|| "making a file".to_string())?;
    let read = service
        .readFile(&file)
        .doing(|| "passing a file to the service".to_string())?;
    check(read == text, || {
        format!("The service read {read:?} instead of {text:?}.")
    })?;
    let text = format!("a file of the client, read by the service: {read:?}");
    Ok(Step::ok("file-to-service", text))
}

pub fn file_from_service(service: &Service) -> Result<Step> {
    let text = "returned by the service";
    let file = service
        .openText(text)
        .doing(|| "getting a file from the service".to_string())?;
    let read = read_text(&file).doing(|| "reading the service's file".to_string())?;
    check(read == text, || {
        format!("The client read {read:?} instead of {text:?}.")
    })?;
    let text = format!("a file of the service, read by the client: {read:?}");
    Ok(Step::ok("file-from-service", text))
}

fn round_trip(service: &Service, calls: u32) -> Result<Step> {
    let mut durations = Durations::default();
    for call in 0..WARM_UP_CALLS + calls {
        let start = Instant::now();
        service.add(1, 2).doing(|| "timing calls".to_string())?;
        let took_ns = start.elapsed().as_nanos() as u64;
        if call >= WARM_UP_CALLS {
            durations.record(took_ns)?;
        }
    }
    let (min_us, avg_us, max_us) = (durations.min_us(), durations.avg_us(), durations.max_us());
    let (p50_us, p99_us) = (durations.quantile_us(0.5), durations.quantile_us(0.99));
    let mut step = Step::ok("round-trip", format!("round trip of {calls} calls, in us:"));
    step.details = vec![
        format!(
            "{:>9} {:>9} {:>9} {:>9} {:>9}",
            "min", "avg", "p50", "p99", "max"
        ),
        format!("{min_us:>9.1} {avg_us:>9.1} {p50_us:>9.1} {p99_us:>9.1} {max_us:>9.1}"),
    ];
    step.numbers = serde_json::json!({
        "calls": calls, "min_us": min_us, "avg_us": avg_us, "p50_us": p50_us,
        "p99_us": p99_us, "max_us": max_us,
    });
    Ok(step)
}

/// Calls without a pause while another process takes the mount over.
fn replaced(service: &Service, mount: &Mount) -> Result<Step> {
    let mut worst = Duration::ZERO;
    let mut calls = 0;
    let mut call = || -> Result<()> {
        let start = Instant::now();
        let sum = service
            .add(calls, 1)
            .doing(|| "calling while the daemon is replaced".to_string())?;
        check(sum == calls + 1, || format!("{calls} + 1 gave {sum}."))?;
        worst = worst.max(start.elapsed());
        calls += 1;
        Ok(())
    };
    (0..CALLS_AROUND).try_for_each(|_| call())?;
    let now = thread::scope(|scope| {
        let upgrade = scope.spawn(|| generation::hand_over(mount, HandOver::default()));
        while !upgrade.is_finished() {
            call()?;
        }
        upgrade
            .join()
            .map_err(|_| Error::new("The thread that replaces the daemon ended."))?
    })?;
    (0..CALLS_AROUND).try_for_each(|_| call())?;
    check(now.last == "done", || {
        let reason = now.reason.as_deref().unwrap_or("no reason was given");
        format!("The daemon was not replaced: {reason}.")
    })?;
    let worst_ms = worst.as_secs_f64() * 1000.0;
    let mut step = Step::ok(
        "replaced",
        format!(
            "the daemon replaced by process {} in the middle of {calls} calls: none failed, the \
             longest took {worst_ms:.1} ms",
            now.server
        ),
    );
    step.numbers = serde_json::json!({ "calls": calls, "longest_ms": worst_ms });
    Ok(step)
}

struct DeathListener(Mutex<Sender<Instant>>);

impl DeathRecipient for DeathListener {
    fn binder_died(&self, _who: &WIBinder) {
        let sender = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        // Fails once the client has timed out.
        let _ = sender.send(Instant::now());
    }
}

pub fn death(service: &Service, pid: i32) -> Result<Step> {
    let (sender, notifications) = channel();
    let listener = Arc::new(DeathListener(Mutex::new(sender)));
    service
        .as_binder()
        .link_to_death_arc(&listener)
        .doing(|| "requesting a death notification".to_string())?;
    let pid = Pid::from_raw(pid).ok_or_else(|| Error::new("The service has no pid."))?;
    let start = Instant::now();
    kill_process(pid, Signal::KILL).doing(|| "killing the service".to_string())?;
    let notified = notifications
        .recv_timeout(DEATH_TIMEOUT)
        .map_err(|_| Error::new("No death notification arrived."))?;
    let took_ms = (notified - start).as_secs_f64() * 1000.0;
    match service.add(1, 2) {
        Err(status) if status.transaction_error() == StatusCode::DeadObject => {}
        other => {
            return Err(Error::new(format!(
                "A call to the dead service gave {other:?} instead of DeadObject."
            )));
        }
    }
    let text = format!("service killed with SIGKILL, death notification after {took_ms:.2} ms");
    let mut step = Step::ok("death", text);
    step.numbers = serde_json::json!({ "notified_after_ms": took_ms });
    Ok(step)
}

fn show(step: Step) {
    let line = serde_json::to_string(&step).expect("own types become JSON");
    say(line);
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let service = addints::connect(&context.mount, 4)?;
    show(sums(&service)?);
    show(file_to_service(&service)?);
    show(file_from_service(&service)?);
    show(round_trip(&service, arguments.calls)?);
    if arguments.replace {
        show(replaced(&service, &context.mount)?);
    }
    show(death(&service, arguments.service_pid)?);
    Ok(ExitCode::SUCCESS)
}
