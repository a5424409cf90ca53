// SPDX-License-Identifier: Apache-2.0
//! Commands with the names, options and output of Android's, so that scripts for those run. A link
//! of such a name to this program is the command.
use super::services::arguments::Arguments as Words;
use super::services::{list, shell, wait};
use super::{RunMode, SHORT};
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::say;
use anybinder_client::device::{self, DeviceOption};
use anybinder_client::output_stream::MostOutput;
use anybinder_mount::context::Context;
use anybinder_mount::state_report;
use std::process::ExitCode;

pub mod dumpsys;
mod hex_dump;
pub mod lshal;
pub mod service;

#[derive(clap::Subcommand)]
pub enum Command {
    /// List the services, or print what they say of themselves, their processes or threads
    Dumpsys(dumpsys::Arguments),
    /// List the services with their interfaces, or say whether one is registered
    Service(service::Arguments),
    /// List the services, or run a shell command of one
    Cmd(Cmd),
    /// List the HIDL services, with their threads and processes, wait for one, or print what one
    /// says of itself
    Lshal(lshal::Arguments),
}

impl Command {
    pub fn run_mode(&self) -> RunMode {
        match self {
            Command::Dumpsys(arguments) => arguments.run_mode(),
            _ => SHORT,
        }
    }

    pub fn run(&self, context: &Context) -> Result<ExitCode> {
        match self {
            Command::Dumpsys(arguments) => dumpsys::run(context, arguments),
            Command::Service(arguments) => service::run(context, arguments),
            Command::Cmd(arguments) => cmd(context, arguments),
            Command::Lshal(arguments) => lshal::run(context, arguments),
        }
    }
}

/// A service and words for it, or a list.
#[derive(Debug, clap::Args)]
pub struct Asked {
    /// Only list the services
    #[arg(short = 'l')]
    list: bool,

    #[command(flatten)]
    device: DeviceOption,

    #[command(flatten)]
    most: MostOutput,

    /// The service's name, and arguments for the service
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "SERVICE"
    )]
    words: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct Cmd {
    /// Wait until the service is registered
    #[arg(short = 'w')]
    wait: bool,

    #[command(flatten)]
    asked: Asked,
}

/// The services of a device, which is opened.
fn services_on(context: &Context, device: &str) -> Result<Vec<list::Service>> {
    device::open(&context.mount, device, 0)?;
    device::service_manager(&context.mount, device)?;
    list::services()
}

/// Prints the names of services.
fn print_names(context: &Context, services: &[list::Service]) {
    context.show(&services, |services| {
        say("Currently running services:");
        services
            .iter()
            .for_each(|one| say(format_args!("  {}", one.name)));
    });
}

/// A service, asked for by its name at the service manager alone: the service may hang.
fn registered(context: &Context, device: &str, name: &str) -> Result<list::Service> {
    let mut services = services_on(context, device)?.into_iter();
    let service = services.find(|one| one.name == name);
    service.ok_or_else(|| not_found(device::no_service(name), name))
}

/// An error of the search for a service, in Android's words if it is not registered.
fn not_found(error: Error, name: &str) -> Error {
    match error.kind() {
        Kind::NoService => Error::with_advice(
            format!("Can't find service: {name}"),
            "See the registered ones with `anybinder dumpsys -l`.",
        )
        .of(Kind::NoService),
        _ => error,
    }
}

/// How many threads of a process are in use, and how many it has, as Android counts them: of
/// those that have served, the ones that do not wait.
fn threads_in_use(processes: &[state_report::Process], device: &str, pid: i32) -> (usize, usize) {
    let of_it = |one: &&state_report::Process| {
        one.context == device && i64::from(one.pid) == i64::from(pid)
    };
    let threads = processes.iter().filter(of_it).flat_map(|one| &one.threads);
    let serving: Vec<_> = threads.filter(|thread| thread.has_served()).collect();
    let used = serving.iter().filter(|thread| !thread.is_waiting());
    (used.count(), serving.len())
}

/// `anybinder cmd`: what `shell` does.
fn cmd(context: &Context, arguments: &Cmd) -> Result<ExitCode> {
    let asked = &arguments.asked;
    if asked.list {
        print_names(context, &services_on(context, &asked.device.device)?);
        return Ok(ExitCode::SUCCESS);
    }
    let Some((name, words)) = asked.words.split_first() else {
        let advice = "Use -l to list all services.";
        return Err(Error::with_advice("No service is named.", advice).of(Kind::Usage));
    };
    if arguments.wait {
        wait::until_registered(context, &asked.device, name)?;
    }
    let words = Words {
        name: name.clone(),
        device: asked.device.clone(),
        most: asked.most,
        arguments: words.to_vec(),
    };
    shell::run(context, &words).map_err(|error| not_found(error, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_do_not_wait_are_in_use() {
        let thread = |looper| state_report::Thread {
            looper,
            ..state_report::Thread::default()
        };
        let process = |pid, context: &str| state_report::Process {
            pid,
            context: context.to_string(),
            threads: [0x11, 0x12, 0x02, 0x10, 0x00].map(thread).to_vec(),
            ..state_report::Process::default()
        };
        let processes = [
            process(7, "binder"),
            process(7, "hwbinder"),
            process(8, "binder"),
        ];
        assert_eq!(threads_in_use(&processes, "binder", 7), (1, 3));
        assert_eq!(threads_in_use(&processes, "binder", 9), (0, 0));
    }
}
