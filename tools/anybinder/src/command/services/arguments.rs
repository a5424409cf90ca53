// SPDX-License-Identifier: Apache-2.0
//! A service, and words for it that only the service understands.
use anybinder_cli::error::{Error, Kind};
use anybinder_client::device;
use anybinder_client::device::DeviceOption;
use anybinder_client::output_stream::MostOutput;
use anybinder_client::place::Place;
use anybinder_client::raw::is_rpc;
use rsbinder::{SIBinder, StatusCode};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The service's name
    pub name: String,

    #[command(flatten)]
    pub device: DeviceOption,

    #[command(flatten)]
    pub most: MostOutput,

    /// Arguments for the service
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    pub arguments: Vec<String>,
}

/// Why a service cannot be asked for a dump or a shell command; None if it can.
///
/// * `what`: what it is asked for
pub fn unreachable(name: &str, service: &SIBinder, what: &str) -> Option<Error> {
    let text = match (is_rpc(service), service.as_proxy().is_some()) {
        (_, true) => return None,
        (true, false) => format!("{what} of {name} needs files, and only an accessor leads to it."),
        (false, false) => format!("{name} is not a remote service."),
    };
    let advice = "Ask on the machine of the service.";
    Some(Error::with_advice(text, advice).of(Kind::CallFailed))
}

/// The error of a service that answered with a status to that.
pub fn refused(name: &str, what: &str, status: StatusCode) -> Error {
    let is_unknown = matches!(
        status,
        StatusCode::UnknownTransaction | StatusCode::InvalidOperation
    );
    match (is_unknown, Place::of_service(name).link) {
        (true, Some(address)) => Error::with_advice(
            format!("{name} is linked over {address}, and a link passes no {what} on."),
            "Ask on the machine of the service.",
        )
        .of(Kind::CallFailed),
        (true, None) => Error::new(format!("{name} has no {what}.")).of(Kind::CallFailed),
        (false, _) => device::call_error(&format!("{name} fails ({what})"), status),
    }
}
