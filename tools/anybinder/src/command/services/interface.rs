// SPDX-License-Identifier: Apache-2.0
//! `anybinder interface NAME`: what a service says of its interface, and with `--aidl` its methods.
use super::interface_files;
use crate::command::observing::system::methods;
use anybinder_cli::error::Result;
use anybinder_cli::output::say;
use anybinder_client::device::{self, DeviceOption};
use anybinder_client::raw;
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::Roots;
use anybinder_rpc::relay::descriptor_of;
use serde::Serialize;
use std::process::ExitCode;

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
    let (methods, entry) = match methods::library(&arguments.aidl)? {
        None => (None, None),
        Some(library) => {
            let entry = interface_files::interface(&library, &descriptor, &descriptor)?;
            let methods = library.methods(&entry).unwrap_or_default();
            let methods = methods.iter().map(|called| Method {
                code: called.code,
                signature: interface_files::signature(called),
                declaration: called.method.text.clone(),
            });
            (Some(methods.collect()), Some(entry))
        }
    };
    let pid = raw::pid_of(&service);
    let dialect = device::speaker_of(&arguments.name).into();
    if let Some(entry) = &entry {
        interface_files::say_version(entry, &service, dialect);
    }
    let one = Interface {
        name: arguments.name.clone(),
        descriptor,
        pid,
        version: interface_files::version(&service, dialect),
        hash: interface_files::hash(&service, dialect),
        has_extension: matches!(service.get_extension(), Ok(Some(_))),
        methods,
    };
    context.show(&one, print);
    Ok(ExitCode::SUCCESS)
}
