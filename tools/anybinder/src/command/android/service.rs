// SPDX-License-Identifier: Apache-2.0
//! `anybinder service`: what `list`, `check` and `call` do.
use super::{hex_dump, list, registered, services_on};
use crate::command::observing::system::interfaces::Interfaces;
use crate::command::services::call;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::{harmless, say, say_lines};
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

/// How long the services may take to tell their interfaces.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Subcommand)]
enum Asked {
    /// List the services with their interfaces
    List,
    /// Say whether a service is registered
    Check {
        /// The service's name
        name: String,
    },
    /// Send a transaction to a service and print the bytes of the reply
    Call {
        /// The service's name
        name: String,
        /// The transaction code (1 is the first method of an AIDL interface)
        code: u32,
        /// Types and values: i32 N, i64 N, f N, d N, s16 TEXT, null, fd PATH
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "TYPE VALUE"
        )]
        words: Vec<String>,
    },
}

/// Types that `service call` of Android has under other names than `anybinder call`.
const RENAMED: [(&str, &str); 3] = [("f", "f32"), ("d", "f64"), ("fd", "raw-file")];
/// Types of Android's command that are not sent.
const NOT_SENT: [&str; 3] = ["nfd", "afd", "intent"];

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    asked: Asked,

    #[command(flatten)]
    device: DeviceOption,
}

#[derive(Serialize)]
struct Service {
    name: String,
    interface: String,
}

#[derive(Serialize)]
struct Answer {
    name: String,
    found: bool,
}

fn print_interfaces(context: &Context, device: &str) -> Result<ExitCode> {
    let services = services_on(context, device)?;
    let mut interfaces = Interfaces::new(device::service_manager(&context.mount, device)?);
    services.iter().for_each(|one| interfaces.ask(&one.name));
    interfaces.collect(PATIENCE);
    let with_interface = |one: list::Service| Service {
        interface: interfaces.of(&one.name).to_string(),
        name: one.name,
    };
    let services: Vec<Service> = services.into_iter().map(with_interface).collect();
    context.show(&services, |services| {
        say(format_args!("Found {} services:", services.len()));
        for (index, one) in services.iter().enumerate() {
            let line = harmless(&format!("{}: [{}]", one.name, one.interface));
            say(format_args!("{index}\t{line}"));
        }
    });
    Ok(ExitCode::SUCCESS)
}

fn check(context: &Context, device: &str, name: &str) -> Result<ExitCode> {
    let found = match registered(context, device, name) {
        Ok(_) => true,
        Err(error) if error.kind() == Kind::NoService => false,
        Err(error) => return Err(error),
    };
    let answer = Answer {
        name: name.to_string(),
        found,
    };
    context.show(&answer, |answer| {
        let found = if answer.found { "found" } else { "not found" };
        say(format_args!("Service {}: {found}", answer.name));
    });
    Ok(ExitCode::SUCCESS)
}

/// The words of Android's command as those of `anybinder call`.
fn renamed(words: &[String]) -> Result<Vec<String>> {
    let mut renamed = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if NOT_SENT.contains(&word.as_str()) {
            return Err(Error::with_advice(
                format!("{word} is not sent."),
                "Use i32, i64, f, d, s16, null or fd PATH.",
            )
            .of(Kind::Usage));
        }
        let known = RENAMED.iter().find(|(theirs, _)| word == theirs);
        renamed.push(known.map_or(word.clone(), |(_, ours)| (*ours).to_string()));
        if word != "null" {
            renamed.extend(rest.next().cloned());
        }
    }
    Ok(renamed)
}

#[derive(Serialize)]
struct Reply {
    size: usize,
    hex: String,
}

fn transact(context: &Context, arguments: &call::Arguments, code: u32) -> Result<ExitCode> {
    let (reply, _) = call::transact(context, arguments, code)?;
    let digits = reply.data.iter().map(|byte| format!("{byte:02x}"));
    let shown = Reply {
        size: reply.data.len(),
        hex: digits.collect(),
    };
    context.show(&shown, |_| {
        say_lines(format_args!(
            "Result: Parcel({})",
            hex_dump::text(&reply.data)
        ));
    });
    Ok(ExitCode::SUCCESS)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let device = &arguments.device.device;
    match &arguments.asked {
        Asked::List => print_interfaces(context, device),
        Asked::Check { name } => check(context, device, name),
        Asked::Call { name, code, words } => {
            let words = renamed(words)?;
            let arguments = call::Arguments::of(name, *code, &arguments.device, words);
            transact(context, &arguments, *code)
        }
    }
}
