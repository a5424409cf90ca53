// SPDX-License-Identifier: Apache-2.0
//! `anybinder bench throughput`: synchronous calls between pairs of a client and a server.
use crate::cell::{Cell, Length, Size};
use crate::comparison::{first_to_this, Beside, Comparison, Group, Repeat, COLUMNS};
use crate::daemon::{self, Scratch};
use crate::document::Output;
use crate::peer::{self, Device};
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Kind, Result};
use anybinder_mount::interrupt;
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;

/// Between two calls of a client that is measured beside others.
const PAUSE_US: u64 = 1000;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Peers to measure [default: all that can run; an unknown name lists them]
    #[arg(long, value_name = "PEER,...", value_delimiter = ',')]
    peers: Vec<String>,

    /// A binder device to measure too, e.g. stock=/dev/binder; may be given several times
    #[arg(long, value_name = "LABEL=PATH")]
    device: Vec<Device>,

    /// Number of clients, each with a server of its own
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,2,4,8,16",
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    pairs: Vec<u32>,

    /// Bytes of a call: both ways, or REQUEST/REPLY
    #[arg(
        long,
        value_name = "SIZE,...",
        value_delimiter = ',',
        default_value = "0,4k,64k,1m"
    )]
    sizes: Vec<Size>,

    /// How long each measurement lasts
    #[arg(long, value_name = "MS", default_value_t = 200,
          value_parser = clap::value_parser!(u64).range(1..=600_000))]
    duration_ms: u64,

    /// Calls of each client, instead of a duration
    #[arg(long, value_name = "COUNT", conflicts_with = "duration_ms",
          value_parser = clap::value_parser!(u64).range(1..))]
    calls: Option<u64>,

    /// Durations of so many clients only, which pause for 1 ms between two calls; the others call
    /// without a pause
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 0,
        hide_default_value = true
    )]
    measured: u32,

    /// How often each measurement is made, in turn with all others
    #[arg(long, value_name = "COUNT", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    output: Output,
}

impl Arguments {
    fn groups(&self, subjects: usize) -> Vec<Group> {
        let length = match self.calls {
            Some(count) => Length::Calls(count),
            None => Length::Duration(Duration::from_millis(self.duration_ms)),
        };
        Group::grid(&self.sizes, &self.pairs, subjects, |_| Cell {
            length,
            delay_us: if self.measured > 0 { PAUSE_US } else { 0 },
            measured: self.measured,
            ..Cell::default()
        })
    }
}

fn show(context: &Context, arguments: &Arguments, all: &Comparison) -> Result<()> {
    let first = &all.subjects[0].peer;
    let words = format!(
        "medians over {} rounds (p99.9: over all calls). ends, daemon: processor time per call of \
         both ends,\nand of the daemon between them. +- %: how far calls/s of a round is from the \
         median.\nthe last column: p50 of {first} divided by p50 of the line, the median of the \
         ratios of the rounds\n",
        arguments.rounds
    );
    let beside: Beside = first_to_this;
    let table = all.table(&COLUMNS, Some((format!("{first}/this"), beside)));
    let document = json!({
        "rounds": arguments.rounds,
        "duration_ms": arguments.calls.is_none().then_some(arguments.duration_ms),
        "calls": arguments.calls,
        "measured": arguments.measured,
        "peers": all.subjects.iter().map(|subject| &subject.peer).collect::<Vec<_>>(),
    });
    let figures = all.published("throughput", document, words, table);
    figures.publish(context, &arguments.output)?;
    all.check()
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let (measured, pairs) = (arguments.measured, &arguments.pairs);
    if measured > 0 && pairs.iter().any(|pairs| *pairs <= measured) {
        return Err(Error::new(format!(
            "--measured {0} needs more than {0} pairs, so that there is a load beside them.",
            measured
        ))
        .of(Kind::Usage));
    }
    interrupt::defer();
    daemon::gain_mount_right()?;
    let scratch = Scratch::new()?;
    let peers = peer::start(&arguments.peers, &arguments.device, &scratch)?;
    let subjects = peer::subjects(&peers);
    let groups = arguments.groups(subjects.len());
    let mut all = Comparison::new(subjects, groups);
    all.measure(Repeat::Rounds(arguments.rounds))?;
    show(context, arguments, &all)?;
    Ok(ExitCode::SUCCESS)
}
