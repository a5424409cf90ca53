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

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print one table and end
    #[arg(long)]
    pub once: bool,

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
