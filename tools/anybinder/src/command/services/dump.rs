// SPDX-License-Identifier: Apache-2.0
//! `anybinder dump NAME [ARGUMENT]...`: what a service says of itself, as Android's `dumpsys`.
use super::arguments::{refused, unreachable, Arguments};
use super::list;
use anybinder_cli::error::Result;
use anybinder_cli::output::say_lines;
use anybinder_client::device;
use anybinder_client::output_stream::{cut_error, Stream, Written};
use anybinder_mount::context::Context;
use anybinder_rpc::parcel_bytes::is_manager;
use rsbinder::StatusCode;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct Dump {
    name: String,
    text: String,
    /// There was more: see --max-output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// The service manager takes no files, since closing one may take long: what it knows is asked
/// with calls, and written here.
fn dump_manager(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    device::service_manager(&context.mount, &arguments.device.device)?;
    let services = list::services()?;
    let text = format!("{} services\n{}", services.len(), list::table(&services));
    let name = arguments.name.clone();
    let dump = Dump {
        name,
        text,
        cut: false,
    };
    context.show(&dump, |dump| say_lines(&dump.text));
    Ok(ExitCode::SUCCESS)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let name = &arguments.name;
    let service = device::find(&context.mount, &arguments.device.device, name)?;
    if let Some(error) = unreachable(name, &service, "a dump") {
        return Err(error);
    }
    if is_manager(&service) {
        return dump_manager(context, arguments);
    }
    let most = arguments.most.max_output;
    let stream = Stream::new(std::io::stdout(), (context.json, most), || {})?;
    let (end, words) = (stream.end()?, arguments.arguments.clone());
    // The call lasts as long as the service writes.
    let call = std::thread::spawn(move || match service.as_proxy() {
        Some(proxy) => proxy.dump(end, &words),
        None => Err(StatusCode::DeadObject),
    });
    let Written { text, is_cut } = stream.finish();
    if !is_cut {
        let outcome = call.join().unwrap_or(Err(StatusCode::Unknown));
        outcome.map_err(|status| refused(name, "dump", status))?;
    }
    let dump = Dump {
        name: name.clone(),
        text,
        cut: is_cut,
    };
    context.show(&dump, |_| {});
    match is_cut {
        true => Err(cut_error(name, most)),
        false => Ok(ExitCode::SUCCESS),
    }
}
