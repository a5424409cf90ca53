// SPDX-License-Identifier: Apache-2.0
//! `anybinder lshal`: the services of `hwservicemanager`.
mod debug;

use super::wait;
use super::{services_on, threads_in_use};
use anybinder_cli::error::Result;
use anybinder_cli::output::say;
use anybinder_mount::context::Context;
use anybinder_mount::state_report;
use serde::Serialize;
use std::process::ExitCode;

const DEVICE: &str = "hwbinder";
const HEADING: &str = "Interface";

#[derive(Serialize)]
struct Service {
    interface: String,
    pid: i32,
    threads_in_use: usize,
    threads: usize,
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the services
    List,
    /// Wait until a service is registered
    Wait {
        /// Its interface and instance, `/default` if that is left out
        #[arg(value_name = "INTERFACE/INSTANCE")]
        name: String,
    },
    /// Print what a service says of itself
    Debug(debug::Arguments),
}

/// The name of a service with its instance.
fn whole_name(name: &str) -> String {
    match name.contains('/') {
        true => name.to_string(),
        false => format!("{name}/default"),
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.action {
        Some(Action::Wait { name }) => {
            let name = whole_name(name);
            return wait::wait(context, &wait::Arguments::of(&name, DEVICE));
        }
        Some(Action::Debug(arguments)) => return debug::run(context, arguments),
        Some(Action::List) | None => {}
    }
    let services = services_on(context, DEVICE)?;
    let processes = state_report::processes(&context.mount)?;
    let with_threads = |one: super::list::Service| {
        let pid = one.place.pid;
        let (threads_in_use, threads) = threads_in_use(&processes, DEVICE, pid);
        Service {
            interface: one.name,
            pid,
            threads_in_use,
            threads,
        }
    };
    let services: Vec<Service> = services.into_iter().map(with_threads).collect();
    context.show(&services, |services| {
        let longest = services.iter().map(|one| one.interface.len()).max();
        let width = longest.unwrap_or(0).max(HEADING.len());
        say("| All HIDL binderized services (registered with hwservicemanager)");
        say(format_args!("{HEADING:<width$} Thread Use Server"));
        for one in services {
            let used = format!("{}/{}", one.threads_in_use, one.threads);
            say(format_args!(
                "{:<width$} {used:<10} {}",
                one.interface, one.pid
            ));
        }
    });
    Ok(ExitCode::SUCCESS)
}
