// SPDX-License-Identifier: Apache-2.0
//! `anybinder freeze PID`, `anybinder unfreeze PID`: the driver fails calls to a frozen process and
//! keeps one-way calls for it. The process itself goes on: stopping it is the freezer's job.
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::say;
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::binderfs;
use anybinder_mount::context::Context;
use rsbinder::{ProcessFreezeInfo, ProcessState, StatusCode};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The process
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    pid: i32,

    /// How long calls that run may take to end before the process is not frozen after all
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    wait_ms: u32,

    #[command(flatten)]
    device: DeviceOption,
}

#[derive(Debug, clap::Args)]
pub struct UnfreezeArguments {
    /// The process
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    pid: i32,

    #[command(flatten)]
    device: DeviceOption,
}

#[derive(Serialize)]
struct State {
    pid: i32,
    frozen: bool,
    /// Since it was frozen last, a call was refused.
    call_received: bool,
    /// Since it was frozen last, a one-way call arrived.
    oneway_received: bool,
    /// A transaction has not ended: one that the process handles or waits for.
    transactions_pending: bool,
    /// How many wait in its todo lists; None where `binder_logs` may not be read.
    queued: Option<u32>,
}

fn explain(pid: i32, what: &str, err: StatusCode) -> Error {
    match err {
        StatusCode::WouldBlock => Error::with_advice(
            format!("The process {pid} was not frozen: calls to it had not ended in time."),
            "See them with `anybinder graph`, or let --wait-ms be longer.",
        )
        .of(Kind::TimedOut),
        StatusCode::BadValue => Error::with_advice(
            format!("The process {pid} has no device of this driver open."),
            "See those that have with `anybinder ps`.",
        ),
        err => device::call_error(&format!("The driver failed to {what} {pid}"), err),
    }
}

fn state(context: &Context, pid: i32, frozen: bool, info: ProcessFreezeInfo) -> State {
    let stats = binderfs::process_stats(&context.mount).ok();
    let own = |stats: Vec<binderfs::ProcessStats>| {
        let own = stats.into_iter().filter(|one| one.pid == pid as u32);
        own.map(|one| one.pending).sum()
    };
    State {
        pid,
        frozen,
        call_received: info.sync_received,
        oneway_received: info.async_received,
        transactions_pending: info.transactions_pending,
        queued: stats.map(own),
    }
}

fn print(state: &State) {
    let word = if state.frozen { "frozen" } else { "not frozen" };
    say(format_args!("process {} is {word}", state.pid));
    let since = "while it was frozen";
    if state.call_received {
        say(format_args!("  calls to it failed {since}"));
    }
    if state.oneway_received {
        say(format_args!("  one-way calls arrived {since}"));
    }
    if state.transactions_pending {
        say("  transactions are pending");
    }
    if let Some(queued) = state.queued.filter(|queued| *queued > 0) {
        say(format_args!("  {queued} transactions wait for a thread"));
    }
}

/// Freezes or unfreezes; the information is that of the time when it was frozen.
fn change(context: &Context, pid: i32, device: &str, wait_ms: Option<u32>) -> Result<ExitCode> {
    device::open(&context.mount, device, 0)?;
    let driver = ProcessState::as_self();
    let what = if wait_ms.is_some() {
        "freeze"
    } else {
        "unfreeze"
    };
    let failed = |err| explain(pid, what, err);
    let before = driver.process_freeze_info(pid).map_err(failed)?;
    let wait = Duration::from_millis(wait_ms.unwrap_or(0).into());
    let frozen = wait_ms.is_some();
    driver.freeze_process(pid, frozen, wait).map_err(failed)?;
    let info = match frozen {
        true => driver.process_freeze_info(pid).map_err(failed)?,
        false => before,
    };
    context.show(&state(context, pid, frozen, info), print);
    Ok(ExitCode::SUCCESS)
}

pub fn freeze(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    change(
        context,
        arguments.pid,
        &arguments.device.device,
        Some(arguments.wait_ms),
    )
}

pub fn unfreeze(context: &Context, arguments: &UnfreezeArguments) -> Result<ExitCode> {
    change(context, arguments.pid, &arguments.device.device, None)
}
