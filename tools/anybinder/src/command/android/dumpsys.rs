// SPDX-License-Identifier: Apache-2.0
//! `anybinder dumpsys`: what `dump` does, for all services or one.
use super::{print_names, registered, threads_in_use, Asked};
use crate::command::services::list::Service;
use crate::command::{Limit, RunMode, SHORT};
use anybinder_cli::error::{Doing, Kind, Result};
use anybinder_cli::output::note;
use anybinder_cli::output::say;
use anybinder_mount::context::Context;
use anybinder_mount::state_report;
use serde::Serialize;
use std::mem::MaybeUninit;
use std::process::ExitCode;
use std::time::Instant;

/// How long the search for a service may take, besides its dump.
const SEARCH_S: u32 = 60;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// After how many seconds to give up a service, and to go on with the next one
    #[arg(short = 't', value_name = "SECONDS", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=86_400))]
    limit_s: u32,

    /// The same in milliseconds, of which begun seconds count whole
    #[arg(short = 'T', value_name = "MILLISECONDS", conflicts_with = "limit_s",
        value_parser = clap::value_parser!(u32).range(1..=86_400_000))]
    limit_ms: Option<u32>,

    /// Leave these services out
    #[arg(long, value_name = "SERVICE,...", value_delimiter = ',')]
    skip: Vec<String>,

    /// Ask the services for dumps in the format of protocol buffers
    #[arg(long)]
    proto: bool,

    /// Print the number of the process instead
    #[arg(long)]
    pid: bool,

    /// Print how many threads of the process are in use instead
    #[arg(long)]
    thread: bool,

    #[command(flatten)]
    asked: Asked,
}

/// What --pid and --thread tell.
#[derive(Serialize)]
struct Process {
    pid: i32,
    threads_in_use: usize,
    threads: usize,
}

/// The time of day here, as Android's command prints it.
fn local_time() -> String {
    let (mut now, mut parts) = (0, MaybeUninit::uninit());
    let mut text = [0u8; 32];
    // SAFETY: the C library writes both; what is not written of the text stays zero.
    let length = unsafe {
        libc::time(&mut now);
        libc::localtime_r(&now, parts.as_mut_ptr());
        let format = c"%Y-%m-%d %H:%M:%S".as_ptr();
        libc::strftime(text.as_mut_ptr().cast(), text.len(), format, parts.as_ptr())
    };
    String::from_utf8_lossy(&text[..length]).into_owned()
}

impl Arguments {
    fn limit_s(&self) -> u32 {
        self.limit_ms.map_or(self.limit_s, |ms| ms.div_ceil(1000))
    }

    pub fn run_mode(&self) -> RunMode {
        // Each of all services has a limit of its own.
        let limit_s = match self.asked.list || !self.asked.words.is_empty() {
            true => SEARCH_S + self.limit_s(),
            false => 0,
        };
        RunMode {
            limit: Limit::Seconds(limit_s),
            ..SHORT
        }
    }

    fn process(&self, context: &Context, pid: i32) -> Result<ExitCode> {
        let device = &self.asked.device.device;
        let (threads_in_use, threads) =
            threads_in_use(&state_report::processes(&context.mount)?, device, pid);
        let process = Process {
            pid,
            threads_in_use,
            threads,
        };
        context.show(&process, |one| {
            if self.pid {
                say(one.pid);
            }
            if self.thread {
                let (used, all) = (one.threads_in_use, one.threads);
                say(format_args!("Threads in use: {used}/{all}"));
            }
        });
        Ok(ExitCode::SUCCESS)
    }

    /// The dump of a service, by a process of its own, which is given up when its time is over.
    fn dump(&self, context: &Context, name: &str, words: &[String]) -> Result<ExitCode> {
        let device = &self.asked.device.device;
        let mut dump = context.mount.own_command("dump")?;
        dump.args(context.json.then_some("--json"));
        dump.arg(format!("--timeout={}", self.limit_s()));
        dump.arg(format!("--device={device}"));
        dump.arg(format!("--max-output={}", self.asked.most.max_output));
        dump.arg("--").arg(name);
        dump.args(self.proto.then_some("--proto")).args(words);
        let status = dump.status().doing(|| "starting `dump`".to_string())?;
        let status = status.code().and_then(|code| u8::try_from(code).ok());
        if status == Some(Kind::TimedOut.exit_status()) && !context.json {
            let limit_ms = u64::from(self.limit_s()) * 1000;
            say("");
            say(format_args!(
                "*** SERVICE '{name}' DUMP TIMEOUT ({limit_ms}ms) EXPIRED ***"
            ));
            say("");
        }
        Ok(status.map_or(ExitCode::FAILURE, ExitCode::from))
    }

    fn show(&self, context: &Context, service: &Service, words: &[String]) -> Result<ExitCode> {
        match self.pid || self.thread {
            true => self.process(context, service.place.pid),
            false => self.dump(context, &service.name, words),
        }
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let asked = &arguments.asked;
    if let (false, Some((name, words))) = (asked.list, asked.words.split_first()) {
        let service = registered(context, &asked.device.device, name)?;
        return arguments.show(context, &service, words);
    }
    let services = print_names(context, &asked.device.device)?;
    if asked.list {
        return Ok(ExitCode::SUCCESS);
    }
    let is_skipped = |service: &Service| arguments.skip.contains(&service.name);
    for service in services.into_iter().filter(|one| !is_skipped(one)) {
        let (name, since) = (&service.name, Instant::now());
        if !context.json {
            say("-".repeat(79));
            say(format_args!("DUMP OF SERVICE {name}:"));
        }
        if let Err(error) = arguments.show(context, &service, &[]) {
            note(format_args!("anybinder: {}", error.line()));
        }
        if !context.json {
            say(format_args!(
                "--------- {:.3}s was the duration of dumpsys {name}, ending at: {}",
                since.elapsed().as_secs_f64(),
                local_time()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
