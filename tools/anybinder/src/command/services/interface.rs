// SPDX-License-Identifier: Apache-2.0
//! `anybinder interface NAME`: what a service says of its interface, and with `--aidl` its methods.
use super::interface_files;
use anybinder_cli::error::Result;
use anybinder_cli::output::say;
use anybinder_client::device::{self, DeviceOption};
use anybinder_client::raw;
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::Roots;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::status;
use anybinder_rpc::dialect::Dialect;
use anybinder_rpc::relay::descriptor_of;
use rsbinder::SIBinder;
use serde::Serialize;
use std::process::ExitCode;

/// Meta methods of stable AIDL, the last codes of the range.
const GET_VERSION: u32 = rsbinder::FIRST_CALL_TRANSACTION + 16_777_214;
const GET_HASH: u32 = rsbinder::FIRST_CALL_TRANSACTION + 16_777_213;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The service's name
    name: String,

    #[command(flatten)]
    aidl: Roots,

    #[command(flatten)]
    device: DeviceOption,
}

#[derive(Serialize)]
struct Method {
    code: u32,
    /// What a caller passes.
    signature: String,
    /// The declaration as the file has it.
    declaration: String,
}

#[derive(Serialize)]
struct Interface {
    name: String,
    descriptor: String,
    /// The process that owns the object; None if it does not say.
    pid: Option<i32>,
    /// The version of stable AIDL.
    version: Option<i32>,
    hash: Option<String>,
    has_extension: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    methods: Option<Vec<Method>>,
}

/// The reply to a meta method, behind its exception.
fn meta<T>(
    (service, dialect): (&SIBinder, Dialect),
    code: u32,
    read: impl FnOnce(&mut Decoder) -> std::result::Result<T, String>,
) -> Option<T> {
    let reply = raw::ask(service, dialect, code)?;
    let mut decoder = Decoder::new(&reply.data, None);
    match status::read(&mut decoder) {
        Ok(None) => read(&mut decoder).ok(),
        _ => None,
    }
}

fn print(one: &Interface) {
    say(format_args!("{}: {}", one.name, one.descriptor));
    if let Some(pid) = one.pid {
        say(format_args!("  process {pid}"));
    }
    if let Some(version) = one.version {
        let hash = one.hash.as_deref().unwrap_or("not said");
        say(format_args!("  version {version}, hash {hash}"));
    }
    if one.has_extension {
        say("  has an extension");
    }
    for method in one.methods.iter().flatten() {
        say(format_args!("  {:>5}  {}", method.code, method.declaration));
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let service = device::find(&context.mount, &arguments.device.device, &arguments.name)?;
    let descriptor = descriptor_of(&service)
        .map_err(|err| device::call_error(&format!("{} does not answer", arguments.name), err))?;
    let methods = match arguments.aidl.paths.is_empty() {
        true => None,
        false => {
            let library = interface_files::open(&arguments.aidl)?;
            let entry = interface_files::interface(&library, &descriptor, &descriptor)?;
            let methods = library.methods(&entry).unwrap_or_default();
            let methods = methods.iter().map(|called| Method {
                code: called.code,
                signature: interface_files::signature(called),
                declaration: called.method.text.clone(),
            });
            Some(methods.collect())
        }
    };
    let pid = raw::pid_of(&service);
    let asked = (&service, device::speaker_of(&arguments.name).into());
    let one = Interface {
        name: arguments.name.clone(),
        descriptor,
        pid,
        version: meta(asked, GET_VERSION, |reply| {
            reply.word().map(|word| word as i32)
        }),
        hash: meta(asked, GET_HASH, |reply| reply.string16()).flatten(),
        has_extension: matches!(service.get_extension(), Ok(Some(_))),
        methods,
    };
    context.show(&one, print);
    Ok(ExitCode::SUCCESS)
}
