// SPDX-License-Identifier: Apache-2.0
//! `anybinder link NAME ADDRESS`: registers a service of another machine.
use super::export::Common;
use anybinder_cli::error::Result;
use anybinder_client::device::{self, DeviceOption};
use anybinder_mount::context::Context;
use anybinder_rpc::access::Fingerprint;
use anybinder_rpc::address::Address;
use anybinder_rpc::link::{self, Accessor, Options};
use anybinder_rpc::tls::parse_pin;
use std::process::ExitCode;

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Which {
    /// The others get a relay
    Beside,
    /// The others get nothing
    Only,
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The name under which the service is registered here
    name: String,

    /// Where it is: tls://HOST:PORT, unix:///PATH or vsock://CID:PORT, and #NAME if several
    /// services share the address [default: the same name]
    address: Address,

    /// Accept this certificate of the other machine: SHA-256, as `openssl x509 -fingerprint
    /// -sha256` prints it; may be given several times
    #[arg(long, value_name = "FINGERPRINT", value_parser = parse_pin)]
    pin: Vec<Fingerprint>,

    /// The name in the certificate of the other machine, if it is not that of the address
    #[arg(long, value_name = "HOST")]
    server_name: Option<String>,

    /// Give clients of Android 16 and newer an accessor: they connect by themselves; with =only,
    /// the others find no service
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true,
        default_missing_value = "beside")]
    accessor: Option<Which>,

    /// End when the link is lost or cannot be made, instead of connecting again
    #[arg(long)]
    once: bool,

    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    device: DeviceOption,
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let common = &arguments.common;
    let device = &arguments.device.device;
    let options = Options {
        name: arguments.name.clone(),
        address: arguments.address.clone(),
        server_name: arguments.server_name.clone(),
        credentials: common.credentials(arguments.pin.clone()),
        accessor: match arguments.accessor {
            None => Accessor::None,
            Some(Which::Beside) => Accessor::Beside,
            Some(Which::Only) => Accessor::Only,
        },
        once: arguments.once,
        json: context.json,
        threads: common.threads,
        max_size: common.max_size,
        aidl: common.aidl.clone(),
        form: common.form(),
        patience: common.patience(),
    };
    let status = link::run(&options, &|threads| {
        device::open(&context.mount, device, threads)?;
        device::manager(&context.mount, device)
    })?;
    Ok(ExitCode::from(u8::try_from(status).unwrap_or(1)))
}
