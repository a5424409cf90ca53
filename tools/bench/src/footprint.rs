// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench memory`: what each thing that clients have costs a daemon, in bytes of its own
//! memory, beside what stands for it in D-Bus.
//!
//! A new daemon gets one of them and then many; the difference is shared out. Pages of buffers are
//! not counted (Pss_Shmem), nor is memory of the kernel.
use crate::daemon::{self, Daemon, Scratch, FULL, PLAIN};
use crate::document::{self, Output, Published};
use crate::idle_clients::{IdleClients, Load, Memory};
use crate::table::{number, Table};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_mount::interrupt;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many of each thing
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1000,10000",
          value_parser = clap::value_parser!(u32).range(2..=10_000))]
    counts: Vec<u32>,

    #[command(flatten)]
    output: Output,
}

/// A thing: its name, whether it is one of Binder, and the load that has so many.
type Thing = (&'static str, bool, fn(&mut Load, u32));

const THINGS: [Thing; 8] = [
    ("client", true, |load, count| load.clients = count),
    ("waiting call", true, |load, count| {
        load.clients = CALLERS;
        load.threads = count.div_ceil(CALLERS);
    }),
    ("node and a reference", true, |load, count| {
        load.objects = count
    }),
    ("node and two references", true, |load, count| {
        load.references = count
    }),
    ("buffer with a handle", true, |load, count| {
        load.buffers = count
    }),
    ("dbus-broker: connection", false, |load, count| {
        load.clients = count
    }),
    ("dbus-broker: name", false, |load, count| {
        load.objects = count
    }),
    ("dbus-broker: match rule", false, |load, count| {
        load.references = count
    }),
];
/// No process has that many threads.
const CALLERS: u32 = 10;

/// Bytes of each of `count` things, and what the daemon then uses.
fn measure((_, is_binder, set): &Thing, count: u32) -> Result<(f64, Memory)> {
    let scratch = Scratch::new()?;
    type Start = fn(&Path) -> Result<Daemon>;
    let (start, peer, program): (Start, _, _) = match is_binder {
        true => (daemon::anybinderd, "idle", PLAIN),
        false => (daemon::dbus_broker, "dbus-idle", FULL),
    };
    let daemon = start(&scratch.0)?;
    let used = |count| {
        let mut load = Load::default();
        set(&mut load, count);
        let _clients = IdleClients::start(peer, program, &daemon.address, load)?;
        interrupt::check()?;
        Ok::<Memory, Error>(Memory::of(daemon.pid()))
    };
    let (one, all) = (used(1)?, used(count)?);
    let more_kib = all.own_kib() as f64 - one.own_kib() as f64;
    Ok((more_kib * 1024.0 / f64::from(count - 1), all))
}

/// Of a new daemon that has served nobody.
fn idle() -> Result<Memory> {
    let scratch = Scratch::new()?;
    let daemon = daemon::anybinderd(&scratch.0)?;
    std::thread::sleep(Duration::from_millis(500));
    Ok(Memory::of(daemon.pid()))
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    daemon::gain_mount_right()?;
    let heads = arguments.counts.iter().map(u32::to_string);
    let mut table = Table::new(std::iter::once("bytes each, of".to_string()).chain(heads));
    let mut things = Vec::new();
    for thing in &THINGS {
        let found = arguments.counts.iter().map(|count| measure(thing, *count));
        let (bytes, used): (Vec<f64>, Vec<Memory>) = match found.collect::<Result<Vec<_>>>() {
            Ok(found) => found.into_iter().unzip(),
            Err(error) => {
                eprintln!("{} is left out: {error}", thing.0);
                continue;
            }
        };
        let shown = bytes.iter().map(|bytes| number(Some(*bytes), 0));
        table.row(std::iter::once(thing.0.to_string()).chain(shown));
        things.push(json!({ "thing": thing.0, "bytes": bytes, "used": used }));
    }
    let idle = idle()?;
    let (mib, threads) = (idle.pss_kib as f64 / 1024.0, idle.threads);
    let figures = Published {
        name: "memory",
        document: json!({
            "bench": "memory",
            "machine": document::machine(),
            "counts": arguments.counts,
            "things": things,
            "idle": idle,
        }),
        picture: None,
        text: table.text() + &format!("idle daemon: {mib:.2} MiB, {threads} threads\n"),
    };
    figures.publish(context, &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}
