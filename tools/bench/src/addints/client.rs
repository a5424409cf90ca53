// SPDX-License-Identifier: Apache-2.0
//! The client process of `bench addints`; it prints its figures as bench-ipc does.
use crate::durations::Durations;
use crate::figures::{Class, Figures};
use anybinder_client::addints::{self, aidl::IAddInts};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Result};
use rsbinder::Strong;
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

/// The user and system time of this process so far, in us.
fn cpu_time_us() -> (f64, f64) {
    // SAFETY: rusage consists of numbers, for which all zeroes is a valid value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it fills in a structure that outlives the call.
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
    let mut durations = Durations::default();
    let (start, before_us) = (Instant::now(), cpu_time_us());
    for call in 0..arguments.calls {
        let number = call as i32;
        let begin = Instant::now();
        let sum = service.add(number, 1).doing(doing)?;
        durations.record(begin.elapsed().as_nanos() as u64)?;
        if sum != number.wrapping_add(1) {
            return Err(Error::new(format!("{number} + 1 gave {sum}.")));
        }
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
    }
    let (elapsed_s, after_us) = (start.elapsed().as_secs_f64(), cpu_time_us());
    let calls = arguments.calls as f64;
    Ok(Figures {
        calls: arguments.calls,
        seconds: elapsed_s,
        user_us: (after_us.0 - before_us.0) / calls,
        system_us: (after_us.1 - before_us.1) / calls,
        classes: vec![Class {
            class: String::new(),
            durations,
        }],
        daemon_us: None,
    })
}

/// Measures and prints one line of JSON.
pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let service = addints::connect(&context.mount, 0)?;
    let figures = measure(&service, arguments)?;
    let line = serde_json::to_string(&figures).expect("own types become JSON");
    println!("{line}");
    Ok(ExitCode::SUCCESS)
}
