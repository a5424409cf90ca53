// SPDX-License-Identifier: Apache-2.0
//! `anybinder dump NAME [ARGUMENT]...`: what a service says of itself, as Android's `dumpsys`.
use super::arguments::Arguments;
use super::list;
use anybinder_client::device;
use anybinder_client::stream::Stream;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Error, Result};
use anybinder_rpc::words::is_manager;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct Dump {
    name: String,
    text: String,
}

/// The service manager takes no files, since closing one may take long: what it knows is asked
/// with calls, and written here.
fn dump_manager(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let manager = device::service_manager(&context.mount, &arguments.device.device)?;
    let services = list::services(&manager)?;
    let text = format!("{} services\n{}", services.len(), list::table(&services));
    let name = arguments.name.clone();
    context.show(&Dump { name, text }, |dump| print!("{}", dump.text));
    Ok(ExitCode::SUCCESS)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let name = &arguments.name;
    let service = device::find(&context.mount, &arguments.device.device, name)?;
    let proxy = service
        .as_proxy()
        .ok_or_else(|| Error::new(format!("{name} is not a remote service.")))?;
    if is_manager(&service) {
        return dump_manager(context, arguments);
    }
    let stream = Stream::new(std::io::stdout(), context.json)?;
    let outcome = proxy.dump(stream.end()?, &arguments.arguments);
    let text = stream.finish();
    outcome.map_err(|err| device::call_error(&format!("{name} failed to dump"), err))?;
    let name = name.clone();
    context.show(&Dump { name, text }, |_| {});
    Ok(ExitCode::SUCCESS)
}
