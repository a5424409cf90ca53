// SPDX-License-Identifier: Apache-2.0
//! `anybinder ping NAME`: whether a service answers, and how long the smallest call takes. A thread
//! makes the calls, since one may never end.
use crate::command::{RunMode, LONG, SHORT};
use anybinder_bench::durations::Durations;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::interrupt;
use anybinder_cli::output::say;
use anybinder_cli::time_limit::seconds;
use anybinder_client::device::{self, DeviceOption};
use anybinder_client::place::Place;
use anybinder_mount::context::Context;
use anybinder_mount::mount::Mount;
use anybinder_rpc::relay::descriptor_of;
use rsbinder::SIBinder;
use serde::Serialize;
use std::process::ExitCode;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// How often an interrupt is looked for.
const POLL: Duration = Duration::from_millis(100);
/// How many answers may wait to be printed.
const MOST_WAITING: usize = 256;
/// Between the calls of a ping without end, unless it is told otherwise.
const USUAL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The service's name
    name: String,

    /// How many calls to make; 0: until it is interrupted [default: 1; with --interval 0]
    #[arg(long, value_name = "COUNT")]
    count: Option<u64>,

    /// How long to wait between two calls [default: not at all; 1 with --count 0]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    interval: Option<Duration>,

    /// After how long a call counts as not answered: that ends the command, but with --count 0 it
    /// says so and goes on waiting
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "30")]
    wait: Duration,

    /// Print only the summary
    #[arg(long)]
    quiet: bool,

    #[command(flatten)]
    device: DeviceOption,
}

impl Arguments {
    /// 0 for no end.
    fn count(&self) -> u64 {
        let usual = if self.interval.is_some() { 0 } else { 1 };
        self.count.unwrap_or(usual)
    }

    fn interval(&self) -> Duration {
        let usual = match self.count() {
            0 => USUAL_INTERVAL,
            _ => Duration::ZERO,
        };
        self.interval.unwrap_or(usual)
    }

    pub fn run_mode(&self) -> RunMode {
        match self.count() {
            1 => SHORT,
            _ => LONG,
        }
    }
}

/// What the thread tells.
enum Event {
    Found { descriptor: String, place: Place },
    Answered(Duration),
    Failed(Error),
}

#[derive(Serialize)]
struct Answer {
    name: String,
    descriptor: String,
    #[serde(flatten)]
    place: Place,
    round_trip_us: Vec<f64>,
    summary: Summary,
}

#[derive(Default, Serialize)]
struct Summary {
    calls: u64,
    min_us: f64,
    avg_us: f64,
    p50_us: f64,
    p90_us: f64,
    p99_us: f64,
    max_us: f64,
}

/// The answers so far.
struct Tally<'a> {
    context: &'a Context,
    arguments: &'a Arguments,
    found: Option<(String, Place)>,
    took_us: Vec<f64>,
    durations: Durations,
}

impl Tally<'_> {
    fn note(&mut self, took: Duration) -> Result<()> {
        let took_us = took.as_nanos() as f64 / 1000.0;
        self.durations.record(took.as_nanos() as u64)?;
        if self.context.json {
            self.took_us.push(took_us);
        } else if let (Some((descriptor, place)), false) = (&self.found, self.arguments.quiet) {
            say(format_args!(
                "{} ({descriptor}) answers in {took_us:.1} us{}",
                self.arguments.name,
                place.suffix()
            ));
        }
        Ok(())
    }

    /// What does not go into JSON.
    fn remark(&self, text: &str) {
        if !self.context.json {
            say(text);
        }
    }

    fn summary(&self) -> Summary {
        let all = &self.durations;
        if all.calls() == 0 {
            return Summary::default();
        }
        Summary {
            calls: all.calls(),
            min_us: all.min_us(),
            avg_us: all.avg_us(),
            p50_us: all.quantile_us(0.5),
            p90_us: all.quantile_us(0.9),
            p99_us: all.quantile_us(0.99),
            max_us: all.max_us(),
        }
    }

    fn show(self) {
        let summary = self.summary();
        let is_one = self.arguments.count() == 1;
        let Some((descriptor, place)) = self.found else {
            return;
        };
        let answer = Answer {
            name: self.arguments.name.clone(),
            descriptor,
            place,
            round_trip_us: self.took_us,
            summary,
        };
        self.context.show(&answer, |answer| {
            let all = &answer.summary;
            if is_one {
                return;
            }
            say(format_args!("{}: {} answers", answer.name, all.calls));
            if all.calls > 0 {
                say(format_args!(
                    "in us: min {:.1}, avg {:.1}, p50 {:.1}, p90 {:.1}, p99 {:.1}, max {:.1}",
                    all.min_us, all.avg_us, all.p50_us, all.p90_us, all.p99_us, all.max_us
                ));
            }
        });
    }
}

/// Finds the service.
fn find(mount: &Mount, device: &str, name: &str) -> Result<(SIBinder, Event)> {
    let service = device::find(mount, device, name)?;
    let descriptor = descriptor_of(&service)
        .map_err(|status| device::call_error(&format!("{name} does not answer"), status))?;
    let place = Place::of_service(name);
    Ok((service, Event::Found { descriptor, place }))
}

/// Makes the calls; ends early if nobody listens any more.
fn make_calls(
    (mount, device, name): (&Mount, &str, &str),
    (count, interval): (u64, Duration),
    events: &SyncSender<Event>,
) -> Result<()> {
    let (service, found) = find(mount, device, name)?;
    let mut is_heard = events.send(found).is_ok();
    let mut made = 0;
    while is_heard && (count == 0 || made < count) {
        if made > 0 {
            std::thread::sleep(interval);
        }
        let start = Instant::now();
        service
            .ping_binder()
            .map_err(|status| device::call_error(&format!("{name} does not answer"), status))?;
        is_heard = events.send(Event::Answered(start.elapsed())).is_ok();
        made += 1;
    }
    Ok(())
}

/// The error of a service that keeps us waiting.
fn no_answer(arguments: &Arguments) -> Error {
    Error::with_advice(
        format!(
            "{} did not answer within {} s.",
            arguments.name,
            arguments.wait.as_secs_f64()
        ),
        "Its process may be stopped or busy (`anybinder top`), or the machine that it is linked \
         to is out of reach. To wait longer, use --wait.",
    )
    .of(Kind::TimedOut)
}

/// Takes what the thread tells until its end, an error, or an interrupt.
fn listen(tally: &mut Tally, events: &Receiver<Event>) -> Result<()> {
    let arguments = tally.arguments;
    let mut heard = Instant::now();
    loop {
        if interrupt::check().is_err() {
            return Ok(());
        }
        match events.recv_timeout(POLL) {
            Ok(Event::Found { descriptor, place }) => tally.found = Some((descriptor, place)),
            Ok(Event::Answered(took)) => tally.note(took)?,
            Ok(Event::Failed(error)) => return Err(error),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                if heard.elapsed() < arguments.wait + arguments.interval() {
                    continue;
                }
                if arguments.count() > 0 || tally.found.is_none() {
                    return Err(no_answer(arguments));
                }
                let wait_s = arguments.wait.as_secs_f64();
                tally.remark(&format!("no answer for {wait_s} s"));
            }
        }
        heard = Instant::now();
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let (sender, events) = sync_channel(MOST_WAITING);
    let mount = context.mount.clone();
    let (device, name) = (arguments.device.device.clone(), arguments.name.clone());
    let plan = (arguments.count(), arguments.interval());
    if arguments.count() != 1 {
        interrupt::defer();
    }
    std::thread::spawn(move || {
        if let Err(error) = make_calls((&mount, &device, &name), plan, &sender) {
            let _ = sender.send(Event::Failed(error));
        }
    });
    let mut tally = Tally {
        context,
        arguments,
        found: None,
        took_us: Vec::new(),
        durations: Durations::default(),
    };
    let outcome = listen(&mut tally, &events);
    let status = match tally.durations.calls() == 0 {
        true => Kind::TimedOut.exit_status(),
        false => 0,
    };
    if outcome.is_ok() || arguments.count() != 1 {
        tally.show();
    }
    outcome.map(|()| ExitCode::from(status))
}
