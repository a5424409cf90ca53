// SPDX-License-Identifier: Apache-2.0
//! What `anybinder top` is asked for.
use anybinder_cli::time_limit;
use anybinder_client::device::DeviceOption;
use anybinder_parcel::aidl::Roots;
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    Calls,
    /// The 99th percentile
    Latency,
    Waiting,
    Threads,
    Buffers,
    References,
    Pid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    Processes,
    Services,
}

const KEYS: &str = "\
Keys of --json; null is what is not known, and what a recording does not have:
  processes, each with
    pid, command, services
    received_per_s, sent_per_s: calls
    served, made: the latency (p50_us, p99_us, max_us) of calls to it, and of its own
    waiting: calls for which it has no thread; busy, threads: those that handle a call, and all
    buffer_bytes, buffer_size, references, restarts (in the last minute), scheduling, marks
    backlogs: one-way calls that wait, by object: node, service, calls, oldest_ms, bytes, percent
      (of the half of the buffer that they may use), senders (pid, command, calls)
    activities: of each thread tid, doing (waits, handles, oneway, idle, outside), scheduling, with:
      the other side of its call: pid, tid, command, code, method, is_oneway, service, for_ms,
      priority
  services, each with
    name, pid, command, calls_per_s, errors_per_s, latency, waiting, restarts, backlog, priority
    methods: code, name, is_oneway, calls_per_s, errors_per_s, bytes_per_s, latency, and queued:
      until a thread took the call
    callers: pid, command, has_handle, calls_per_s, latency
  marks: mark, pid, command, why
  measured_s, lost_events, no_latencies (why there are none), not_recorded";

#[derive(Debug, clap::Args)]
#[command(after_help = KEYS)]
pub struct Arguments {
    /// Print one table and end
    #[arg(long)]
    pub once: bool,

    /// With --json: a document on a line of its own for each sample, until it is interrupted
    #[arg(long, conflicts_with_all = ["once", "from"])]
    pub stream: bool,

    /// The time between two samples, and the time that rates and latencies are of
    #[arg(long, value_name = "MS", default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(50..=60_000))]
    pub interval_ms: u64,

    #[arg(long, value_enum, default_value_t = View::Processes)]
    pub view: View,

    #[arg(long, value_enum, default_value_t = Sort::Calls)]
    pub sort: Sort,

    /// Only processes whose pid, command or services contain this, and such services
    #[arg(long, value_name = "WORD")]
    pub filter: Option<String>,

    /// Look into one process: what each thread does, and for whom it waits since when
    #[arg(long, value_name = "PID|COMMAND")]
    pub process: Option<String>,

    /// Look into one service: its methods and its callers
    #[arg(long, value_name = "NAME", conflicts_with = "process")]
    pub service: Option<String>,

    /// After how many milliseconds a call counts as hanging
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    pub hanging_ms: u64,

    /// Show what a recording of `anybinder trace` has, instead of what happens now: calls, and what
    /// was under way at its end
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    pub from: Option<PathBuf>,

    /// Show what was under way in the recording so long after the first call, with rates and
    /// latencies of --interval-ms before
    #[arg(long, value_name = "SECONDS", requires = "from", value_parser = time_limit::seconds)]
    pub at: Option<Duration>,

    #[command(flatten)]
    pub aidl: Roots,

    #[command(flatten)]
    pub device: DeviceOption,
}

impl Sort {
    /// The next one, in a circle.
    pub fn next(self) -> Sort {
        let all = Sort::value_variants();
        let at = all.iter().position(|one| *one == self).unwrap_or(0);
        all[(at + 1) % all.len()]
    }

    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_string())
    }
}
