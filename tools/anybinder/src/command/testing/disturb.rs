// SPDX-License-Identifier: Apache-2.0
//! `anybinder disturb NAME`: a process takes the name of a service, disturbs the calls that a rule
//! is about, and passes on all else.
mod guardian;
mod rule;

use crate::command::services::call::{code_of, method_named};
use crate::command::services::interface_files;
use anybinder_cli::error::{Error, Result};
use anybinder_cli::time_limit::span;
use anybinder_client::device::{self, DeviceOption};
use anybinder_driver::parcel::Parcel;
use anybinder_fake::answer_text::exception;
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::Roots;
use anybinder_parcel::encode::Parcel as Plan;
use anybinder_parcel::status::Exception;
use anybinder_rpc::relay::descriptor_of;
use anybinder_rpc::status_text::number_of;
use rule::{Effect, Rule};
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
The service sees this command as its caller: process, user, security context. All else is passed on:
objects, which clients and service then use between themselves, files, one-way calls in their order,
dumps, priorities. The name is given back when the command ends, also when it is killed; to clients
that found the service meanwhile that is its death. `list` names the process that gave it back.";

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The service's name
    name: String,

    /// Only calls of this method: its name with --aidl; else its transaction code [default: all of
    /// the interface]
    #[arg(long)]
    method: Option<String>,

    #[command(flatten)]
    aidl: Roots,

    /// Only calls of processes with this name, or of this user
    #[arg(long, value_name = "PROCESS|UID")]
    caller: Option<String>,

    /// First wait so long, as 2s or 300ms
    #[arg(long, value_name = "TIME", value_parser = span)]
    delay: Option<Duration>,

    /// Fail with a status of libbinder: its name, as DEAD_OBJECT, or its number
    #[arg(long, group = "effect", value_name = "STATUS", value_parser = number_of)]
    #[arg(allow_hyphen_values = true)]
    fail: Option<i32>,

    /// Answer with an exception: 'Security("text")', 'ServiceSpecific(42, "text")', ...
    #[arg(long, group = "effect", value_parser = exception)]
    exception: Option<Exception>,

    /// Die: the call fails, clients are told of the death, and the name is registered anew
    #[arg(long, group = "effect")]
    dead: bool,

    /// Let one-way calls vanish
    #[arg(long, group = "effect")]
    drop_oneway: bool,

    /// Only this share of the calls, from 0 to 1, by chance
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    rate: f64,

    /// With the same number, the same calls are chosen
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Only so many calls; all later ones are passed on
    #[arg(long, value_name = "K")]
    count: Option<u64>,

    #[command(flatten)]
    device: DeviceOption,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share));
    number.ok_or_else(|| "not a number from 0 to 1".to_string())
}

/// The code of the method; by its name, the service is asked for its interface.
fn code(context: &Context, arguments: &Arguments) -> Result<Option<u32>> {
    let Some(method) = &arguments.method else {
        return Ok(None);
    };
    if arguments.aidl.paths.is_empty() {
        return code_of(method).map(Some);
    }
    let library = interface_files::open(&arguments.aidl)?;
    let name = &arguments.name;
    let service = device::look_up(&context.mount, &arguments.device.device, name)?;
    let descriptor = descriptor_of(&service)
        .map_err(|status| device::call_error(&format!("{name} does not answer"), status))?;
    let entry = interface_files::interface(&library, &descriptor, &descriptor)?;
    Ok(Some(method_named(&library, &entry, method)?.code))
}

fn effect(arguments: &Arguments) -> Option<Effect> {
    let written = |exception: &Exception| {
        let mut plan = Plan::default();
        exception.write(&mut plan);
        Effect::Reply(Parcel {
            data: plan.data,
            ..Parcel::default()
        })
    };
    match (arguments.fail, &arguments.exception) {
        (Some(status), _) => Some(Effect::Status(status)),
        (_, Some(exception)) => Some(written(exception)),
        _ if arguments.dead => Some(Effect::Die),
        _ if arguments.drop_oneway => Some(Effect::Drop),
        _ => arguments.delay.map(|_| Effect::Pass),
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let device = &arguments.device.device;
    let effect = effect(arguments).ok_or_else(|| {
        Error::usage(
            "Nothing says what to do with the calls: give --delay, --fail, --exception, --dead or \
             --drop-oneway.",
        )
    })?;
    device::check_aidl(device, &arguments.name)?;
    device::open(&context.mount, device, 0)?;
    device::service_manager(&context.mount, device)?;
    let rule = Rule {
        code: code(context, arguments)?,
        arguments: arguments.clone(),
        effect,
    };
    guardian::run(context, &rule)
}
