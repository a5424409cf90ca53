// SPDX-License-Identifier: Apache-2.0
//! `anybinder metrics`: counters, latencies and what fills up, by service and method, for
//! Prometheus and others that read OpenMetrics: as a page on a loopback address, or a file that is
//! written anew. Labels are names of registered services and of methods only, and so many of them
//! at most: neither a caller nor a service makes any number.
mod page;

use super::page_server::{Asked, Page as Answer, Server};
use super::system::meter::{Calls, Measured};
use super::system::methods::{self, Methods};
use super::system::text::method_name;
use super::top::rows::Sample;
use super::top::sample::{Sampler, Wanted};
use anybinder_cli::error::Result;
use anybinder_cli::interrupt;
use anybinder_cli::new_file::{self, Readers};
use anybinder_client::device::DeviceOption;
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::Roots;
use page::{Page, CONTENT_TYPE};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Rows of methods, and services, that have labels of their own.
const MOST_METHODS: usize = 2_000;
const MOST_SERVICES: usize = 500;
/// What has none: objects that are no registered services, and what is too many.
const OTHERS: &str = "(others)";
/// The upper ends of the buckets of latencies.
const BOUNDS_US: [u64; 14] = [
    20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000,
    10_000_000,
];
/// No call counts as hanging: that is what `top` is for.
const HANGING_MS: u64 = u64::MAX;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Where the page is, below /metrics: an address of this machine itself; port 0 is a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9464")]
    listen: SocketAddr,

    /// Write the page to a file again and again, as for node_exporter's textfile collector, and
    /// listen nowhere
    #[arg(long, value_name = "FILE", conflicts_with = "listen")]
    textfile: Option<PathBuf>,

    /// The time between two looks
    #[arg(long, value_name = "MS", default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(100..=60_000))]
    interval_ms: u64,

    #[command(flatten)]
    aidl: Roots,

    #[command(flatten)]
    device: DeviceOption,
}

/// What was measured of a method since the start.
#[derive(Default)]
struct Total {
    calls: u64,
    errors: u64,
    /// Calls that took at most so long, by bound, and all whose time is known.
    buckets: [u64; BOUNDS_US.len()],
    timed: u64,
    sum_s: f64,
}

#[derive(Default)]
struct Totals {
    /// By service and method.
    methods: BTreeMap<(String, String), Total>,
    lost: u64,
}

impl Total {
    fn add(&mut self, calls: &Calls) {
        self.calls += calls.calls;
        self.errors += calls.errors;
        for (bucket, bound_us) in self.buckets.iter_mut().zip(BOUNDS_US) {
            *bucket += calls.count_within(bound_us);
        }
        self.timed += calls.timed();
        self.sum_s += calls.sum_s();
    }
}

impl Totals {
    fn add(&mut self, measured: &Measured, names: &HashMap<u64, String>, methods: &Methods) {
        self.lost += measured.lost;
        for (key, calls) in &measured.calls {
            let service = names.get(&key.node);
            let mut labels = (OTHERS.to_string(), OTHERS.to_string());
            if let Some(service) = service {
                let method = methods.name(Some(service), key.code);
                labels = (service.clone(), method_name(method.as_deref(), key.code));
            }
            if self.methods.len() >= MOST_METHODS && !self.methods.contains_key(&labels) {
                labels = (OTHERS.to_string(), OTHERS.to_string());
            }
            self.methods.entry(labels).or_default().add(calls);
        }
    }

    fn write(&self, page: &mut Page) {
        let all = |page: &mut Page, value: &dyn Fn(&Total) -> u64| {
            for ((service, method), total) in &self.methods {
                let labels = [("service", service.as_str()), ("method", method)];
                page.sample("_total", &labels, value(total));
            }
        };
        page.family("calls", "counter", "Calls that have ended.");
        all(page, &|total| total.calls);
        page.family(
            "errors",
            "counter",
            "Calls that the driver ended with an error.",
        );
        all(page, &|total| total.errors);
        let help = "From the call until its reply, or until a one-way call was handled.";
        page.family("call_seconds", "histogram", help);
        for ((service, method), total) in &self.methods {
            let labels = [("service", service.as_str()), ("method", method)];
            let bounds = BOUNDS_US.map(|us| (us as f64 / 1e6).to_string());
            let counts = total.buckets.iter().chain([&total.timed]);
            for (bound, count) in bounds
                .iter()
                .map(String::as_str)
                .chain(["+Inf"])
                .zip(counts)
            {
                let [service, method] = labels;
                page.sample("_bucket", &[service, method, ("le", bound)], count);
            }
            page.sample("_sum", &labels, total.sum_s);
            page.sample("_count", &labels, total.timed);
        }
        page.family(
            "lost_events",
            "counter",
            "Events that the driver could not keep.",
        );
        page.sample("_total", &[], self.lost);
    }
}

/// What a service, or the process that it is in, has at the moment; None: not known.
type Gauge = (&'static str, &'static str, fn(&Row) -> Option<u64>);

/// A service and its process.
struct Row<'a> {
    service: &'a super::top::rows::ServiceRow,
    process: Option<&'a super::top::rows::ProcessRow>,
}

const GAUGES: [Gauge; 8] = [
    (
        "backlog_calls",
        "One-way calls that wait for their turn.",
        |row| {
            Some(
                row.service
                    .backlog
                    .as_ref()
                    .map_or(0, |one| one.calls as u64),
            )
        },
    ),
    ("waiting_calls", "Calls that wait for a thread.", |row| {
        Some(row.service.waiting as u64)
    }),
    ("recent_restarts", "Restarts in the last minute.", |row| {
        row.service.restarts.map(u64::from)
    }),
    ("threads", "Threads of the process.", |row| {
        row.process?.threads.map(|count| count as u64)
    }),
    (
        "busy_threads",
        "Threads of the process that handle a call.",
        |row| Some(row.process?.busy as u64),
    ),
    ("references", "Handles that the process has.", |row| {
        row.process?.references.map(u64::from)
    }),
    (
        "buffer_bytes",
        "Bytes of the buffer that are in use.",
        |row| row.process?.buffer_bytes,
    ),
    ("buffer_size_bytes", "The size of the buffer.", |row| {
        row.process?.buffer_size
    }),
];

/// The page of a look.
fn page(totals: &Totals, sample: &Sample) -> String {
    let mut page = Page::default();
    totals.write(&mut page);
    let is_measured = u8::from(sample.no_latencies.is_none());
    page.family(
        "events_readable",
        "gauge",
        "Whether calls are counted: 1, or 0.",
    );
    page.sample("", &[], is_measured);
    page.family("services", "gauge", "Registered services.");
    page.sample("", &[], sample.services.len());
    let processes = sample.processes.iter().map(|one| (one.pid, one));
    let processes: HashMap<_, _> = processes.collect();
    for (name, help, value) in GAUGES {
        page.family(name, "gauge", help);
        for service in sample.services.iter().take(MOST_SERVICES) {
            let process = processes.get(&service.pid).copied();
            if let Some(value) = value(&Row { service, process }) {
                page.sample("", &[("service", &service.name)], value);
            }
        }
    }
    page.finish()
}

/// What a reader gets.
fn answer(asked: &Asked, text: &str) -> Result<Answer> {
    Ok(match asked.path.as_str() {
        "/metrics" => Answer::of(CONTENT_TYPE, text.to_string()),
        _ => Answer::refusal("404 Not Found", "the page is /metrics"),
    })
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    interrupt::defer();
    let start = || Server::start(arguments.listen, "/metrics", "all names of services");
    let server = match &arguments.textfile {
        Some(_) => None,
        None => Some(start()?),
    };
    let wanted = Wanted {
        services: true,
        commands: false,
        latencies: true,
        is_lean: true,
    };
    let library = methods::library(&arguments.aidl)?;
    let device = &arguments.device.device;
    let mut sampler = Sampler::new(context, device, HANGING_MS, &wanted, library)?;
    let mut totals = Totals::default();
    let interval = Duration::from_millis(arguments.interval_ms);
    while interrupt::check().is_ok() {
        let due = Instant::now() + interval;
        let sample = sampler.sample_seen(|look| {
            totals.add(look.measured, look.names, look.methods);
        })?;
        let text = page(&totals, &sample);
        match (&server, &arguments.textfile) {
            (Some(server), _) => server.answer_until(due, |asked| answer(asked, &text))?,
            (None, Some(path)) => {
                new_file::write(path, Readers::Usual, text.as_bytes())?;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            (None, None) => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::observing::system::meter::Key;

    #[test]
    fn a_caller_makes_no_number_of_labels() {
        let mut totals = Totals::default();
        for number in 1..MOST_METHODS {
            let labels = ("a.service".to_string(), number.to_string());
            totals.methods.insert(labels, Total::default());
        }
        let mut measured = Measured::default();
        for (node, code) in [(0, 1), (0, 90_000), (0, 90_001), (7, 1)] {
            let key = Key {
                node,
                code,
                is_oneway: false,
                from: 1,
                to: 2,
            };
            measured.calls.insert(key, Calls::default());
        }
        let names = HashMap::from([(0, "a.service".to_string())]);
        totals.add(&measured, &names, &Methods::default());
        assert!(totals.methods.len() <= MOST_METHODS + 1);
        let services: Vec<&str> = totals
            .methods
            .keys()
            .map(|(name, _)| name.as_str())
            .collect();
        assert!(services.contains(&OTHERS) && services.contains(&"a.service"));
    }
}
