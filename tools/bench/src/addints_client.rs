// SPDX-License-Identifier: Apache-2.0
//! The client of `bench addints`, a process of its own; it prints its figures as bench-ipc does.
use crate::figures::Figures;
use anybinder_client::addints::{aidl::IAddInts, NAME};
use anybinder_client::device;
use anybinder_mount::context::Context;
use anybinder_mount::trouble::{Doing, Result, Trouble};
use hdrhistogram::Histogram;
use rsbinder::{ProcessState, Strong};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const WARM_UP_CALLS: u64 = 500;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[arg(long)]
    calls: u64,
    #[arg(long)]
    delay_us: u64,
}

/// Processor time of this process so far.
fn cpu_time() -> (f64, f64) {
    // SAFETY: rusage is plain numbers, for which zeroes are a value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it fills in a structure of ours.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut used) };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    (us(used.ru_utime), us(used.ru_stime))
}

fn measure(service: &Strong<dyn IAddInts>, arguments: &Arguments) -> Result<Figures> {
    let doing = || "calling the service".to_string();
    let delay = Duration::from_micros(arguments.delay_us);
    for _ in 0..WARM_UP_CALLS {
        service.add(1, 2).doing(doing)?;
    }
    let mut times_ns = Histogram::<u64>::new(3).doing(doing)?;
    let (mut total_ns, mut min_ns, mut max_ns) = (0, u64::MAX, 0);
    let (start, before_us) = (Instant::now(), cpu_time());
    for call in 0..arguments.calls {
        let number = call as i32;
        let begin = Instant::now();
        let sum = service.add(number, 1).doing(doing)?;
        let took_ns = begin.elapsed().as_nanos() as u64;
        if sum != number.wrapping_add(1) {
            return Err(Trouble::new(format!("{number} + 1 came back as {sum}.")));
        }
        times_ns.record(took_ns).doing(doing)?;
        total_ns += took_ns;
        min_ns = min_ns.min(took_ns);
        max_ns = max_ns.max(took_ns);
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
    }
    let (elapsed_s, after_us) = (start.elapsed().as_secs_f64(), cpu_time());
    let (us, calls) = (|ns: u64| ns as f64 / 1000.0, arguments.calls as f64);
    Ok(Figures {
        calls: arguments.calls,
        calls_per_s: calls / elapsed_s,
        min_us: us(min_ns),
        avg_us: us(total_ns) / calls,
        p50_us: us(times_ns.value_at_quantile(0.5)),
        p99_us: us(times_ns.value_at_quantile(0.99)),
        max_us: us(max_ns),
        user_us: (after_us.0 - before_us.0) / calls,
        system_us: (after_us.1 - before_us.1) / calls,
        daemon_us: None,
        histogram_ns: times_ns
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect(),
    })
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    device::open(&context.place, "binder", 0)?;
    device::service_manager(&context.place, "binder")?;
    ProcessState::start_thread_pool();
    let service: Strong<dyn IAddInts> =
        rsbinder::hub::wait_for_interface(NAME).doing(|| format!("waiting for {NAME}"))?;
    let figures = measure(&service, arguments)?;
    let mut value = serde_json::to_value(&figures).expect("own types become JSON");
    value["histogram_ns"] = serde_json::json!(figures.histogram_ns);
    println!("{value}");
    Ok(ExitCode::SUCCESS)
}
