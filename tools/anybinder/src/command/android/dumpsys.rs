// SPDX-License-Identifier: Apache-2.0
//! `anybinder dumpsys`: what `dump` does, for all services or one.
use super::{print_names, registered, services_on, threads_in_use, Asked};
use crate::command::observing::system::nodes::Nodes;
use crate::command::services::list::Service;
use crate::command::{Limit, RunMode, SHORT};
use anybinder_cli::error::{Doing, Kind, Result};
use anybinder_cli::output::note;
use anybinder_cli::output::say;
use anybinder_client::device;
use anybinder_client::raw_manager::{stability_of, RawManager};
use anybinder_mount::context::Context;
use anybinder_mount::state_report::{self, Node};
use anybinder_rpc::foreign;
use clap::ValueEnum;
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

    /// Only services that were registered with this priority, which are told it
    #[arg(long, value_enum, ignore_case = true, value_name = "LEVEL")]
    priority: Option<Priority>,

    /// Ask the services for dumps in the format of protocol buffers
    #[arg(long)]
    proto: bool,

    /// Print the number of the process instead
    #[arg(long)]
    pid: bool,

    /// Print how many threads of the process are in use instead
    #[arg(long)]
    thread: bool,

    /// Print which parts of the system may call the service instead
    #[arg(long)]
    stability: bool,

    /// Print the processes that have a handle of the service instead
    #[arg(long)]
    clients: bool,

    #[command(flatten)]
    asked: Asked,
}

/// With which priority services are dumped; the values are the bits that they register with.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "UPPER")]
enum Priority {
    Critical = 1,
    High = 2,
    Normal = 4,
}

/// What --pid, --thread, --stability and --clients tell.
#[derive(Serialize)]
struct Facts {
    pid: i32,
    threads_in_use: usize,
    threads: usize,
    /// These two only if they are asked for.
    stability: Option<&'static str>,
    clients: Vec<u32>,
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

    /// The processes that have a handle of a service, but for this one.
    fn clients(&self, context: &Context, name: &str) -> Result<Vec<u32>> {
        let mut nodes = Nodes::open(context, &self.asked.device.device)?;
        let processes = nodes.update(|| state_report::processes(&context.mount))?;
        let all = processes.iter().flat_map(|process| &process.nodes);
        let is_it = |node: &&Node| nodes.names().get(&node.id).is_some_and(|one| one == name);
        let holders = all.filter(is_it).flat_map(|node| node.holders.clone());
        Ok(holders.filter(|pid| *pid != std::process::id()).collect())
    }

    fn facts(&self, context: &Context, service: &Service) -> Result<ExitCode> {
        let (device, pid) = (&self.asked.device.device, service.place.pid);
        let (threads_in_use, threads) =
            threads_in_use(&state_report::processes(&context.mount)?, device, pid);
        let object = match self.stability {
            true => RawManager::open(&context.mount, device)?.look_up(&service.name)?,
            false => None,
        };
        let facts = Facts {
            pid,
            threads_in_use,
            threads,
            stability: object.map(|object| stability_of(&object).name()),
            clients: match self.clients {
                true => self.clients(context, &service.name)?,
                false => Vec::new(),
            },
        };
        context.show(&facts, |one| {
            if self.pid {
                say(one.pid);
            }
            if self.thread {
                let (used, all) = (one.threads_in_use, one.threads);
                say(format_args!("Threads in use: {used}/{all}"));
            }
            if self.stability {
                say(one.stability.unwrap_or("unknown stability"));
            }
            if self.clients {
                let pids: Vec<String> = one.clients.iter().map(u32::to_string).collect();
                say(format_args!("Client PIDs: {}", pids.join(", ")));
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
        if let Some(priority) = self.priority {
            dump.args(["--dump-priority", &format!("{priority:?}").to_uppercase()]);
        }
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
        match self.pid || self.thread || self.stability || self.clients {
            true => self.facts(context, service),
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
    let mut services = services_on(context, &asked.device.device)?;
    if let Some(priority) = arguments.priority {
        let foreign = device::foreign();
        let names = foreign::names(foreign.as_ref(), priority as i32);
        let what = "The service manager does not list its services";
        let names = names.map_err(|status| device::call_error(what, status))?;
        services.retain(|one| names.contains(&one.name));
    }
    print_names(context, &services);
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
