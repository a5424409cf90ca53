// SPDX-License-Identifier: Apache-2.0
//! The client of the demo, a process of its own; it prints one JSON line for each step.
use anybinder_client::addints::{aidl::IAddInts, open_text, read_text, NAME};
use anybinder_client::device;
use anybinder_mount::context::Context;
use anybinder_mount::trouble::{Doing, Result, Trouble};
use hdrhistogram::Histogram;
use rsbinder::{DeathRecipient, Interface, ProcessState, StatusCode, Strong, WIBinder};
use rustix::process::{kill_process, Pid, Signal};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What has to have happened, in this process or in the one that started it.
pub const STEPS: [&str; 9] = [
    "home",
    "manager",
    "processes",
    "sums",
    "file-to-service",
    "file-from-service",
    "round-trip",
    "death",
    "down",
];

const SUMS: i32 = 1_000;
const WARM_UP_CALLS: u32 = 500;
const DEATH_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[arg(long)]
    service_pid: i32,
    #[arg(long)]
    calls: u32,
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
        Err(Trouble::new(what()))
    }
}

fn sums(service: &Service) -> Result<Step> {
    for i in 0..SUMS {
        // Numbers of every magnitude and both signs.
        let (a, b) = (i.wrapping_mul(48_271), i.wrapping_mul(-69_621) ^ 0x5555);
        let sum = service.add(a, b).doing(|| format!("adding {a} and {b}"))?;
        let right = a.wrapping_add(b);
        check(sum == right, || {
            format!("{a} + {b} came back as {sum}, not {right}.")
        })?;
    }
    Ok(Step::ok(
        "sums",
        format!("{SUMS} sums asked for, {SUMS} right"),
    ))
}

fn file_to_service(service: &Service) -> Result<Step> {
    let text = format!("written by client {}", std::process::id());
    let file = open_text(&text).doing(|| "making a file".to_string())?;
    let read = service
        .readFile(&file)
        .doing(|| "passing a file to the service".to_string())?;
    check(read == text, || {
        format!("The service read {read:?}, not {text:?}.")
    })?;
    let text = format!("a file of the client's, read by the service: {read:?}");
    Ok(Step::ok("file-to-service", text))
}

fn file_from_service(service: &Service) -> Result<Step> {
    let text = "handed out by the service";
    let file = service
        .openText(text)
        .doing(|| "getting a file from the service".to_string())?;
    let read = read_text(&file).doing(|| "reading the service's file".to_string())?;
    check(read == text, || {
        format!("The client read {read:?}, not {text:?}.")
    })?;
    let text = format!("a file of the service's, read by the client: {read:?}");
    Ok(Step::ok("file-from-service", text))
}

fn round_trip(service: &Service, calls: u32) -> Result<Step> {
    let doing = || "timing calls".to_string();
    let mut times_ns = Histogram::<u64>::new(3).doing(doing)?;
    let (mut total_ns, mut min_ns, mut max_ns) = (0, u64::MAX, 0);
    for call in 0..WARM_UP_CALLS + calls {
        let start = Instant::now();
        service.add(1, 2).doing(doing)?;
        let took_ns = start.elapsed().as_nanos() as u64;
        if call >= WARM_UP_CALLS {
            times_ns.record(took_ns).doing(doing)?;
            total_ns += took_ns;
            min_ns = min_ns.min(took_ns);
            max_ns = max_ns.max(took_ns);
        }
    }
    let us = |ns: u64| ns as f64 / 1000.0;
    let avg_us = us(total_ns) / f64::from(calls);
    let p50_us = us(times_ns.value_at_quantile(0.50));
    let p99_us = us(times_ns.value_at_quantile(0.99));
    let (min_us, max_us) = (us(min_ns), us(max_ns));
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

struct Mourner(Mutex<Sender<Instant>>);

impl DeathRecipient for Mourner {
    fn binder_died(&self, _who: &WIBinder) {
        let sender = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        // Nobody listens any more once the client has given up.
        let _ = sender.send(Instant::now());
    }
}

fn death(service: &Service, pid: i32) -> Result<Step> {
    let (sender, news) = channel();
    let mourner = Arc::new(Mourner(Mutex::new(sender)));
    service
        .as_binder()
        .link_to_death_arc(&mourner)
        .doing(|| "asking for a death notification".to_string())?;
    let pid = Pid::from_raw(pid).ok_or_else(|| Trouble::new("The service has no pid."))?;
    let start = Instant::now();
    kill_process(pid, Signal::KILL).doing(|| "killing the service".to_string())?;
    let told = news
        .recv_timeout(DEATH_PATIENCE)
        .map_err(|_| Trouble::new("No death notification arrived."))?;
    let took_ms = (told - start).as_secs_f64() * 1000.0;
    match service.add(1, 2) {
        Err(status) if status.transaction_error() == StatusCode::DeadObject => {}
        other => {
            return Err(Trouble::new(format!("A call to the dead gave {other:?}.")));
        }
    }
    let text = format!("service killed with SIGKILL, death notification after {took_ms:.2} ms");
    let mut step = Step::ok("death", text);
    step.numbers = serde_json::json!({ "notified_after_ms": took_ms });
    Ok(step)
}

fn show(step: Step) {
    let line = serde_json::to_string(&step).expect("own types become JSON");
    println!("{line}");
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    device::open(&context.place, "binder", 4)?;
    device::service_manager(&context.place, "binder")?;
    ProcessState::start_thread_pool();
    let service: Service =
        rsbinder::hub::wait_for_interface(NAME).doing(|| format!("waiting for {NAME}"))?;
    show(sums(&service)?);
    show(file_to_service(&service)?);
    show(file_from_service(&service)?);
    show(round_trip(&service, arguments.calls)?);
    show(death(&service, arguments.service_pid)?);
    Ok(ExitCode::SUCCESS)
}
