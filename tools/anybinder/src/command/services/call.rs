// SPDX-License-Identifier: Apache-2.0
//! `anybinder call NAME METHOD [ARGUMENT]...`: sends one transaction and prints the reply. With
//! `--aidl` arguments and reply have the types of the method; without, arguments are written as for
//! Android's `service call`, and the reply is printed as words of 32 bits or by `--reply`.
mod callback;
mod reply_objects;
mod request;
mod typed;
mod untyped;

use anybinder_cli::error::{Kind, Result};
use anybinder_cli::output::note;
use anybinder_client::place::Place;
use anybinder_mount::context::Context;
pub use request::Arguments;
use std::process::ExitCode;
pub use typed::{method_named, write as write_typed};
pub use untyped::{code_of, transact};

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let outcome = match typed::is_typed(arguments) {
        false => untyped::run(context, arguments),
        true => typed::run(context, arguments),
    };
    // Otherwise the call was not made: perhaps the device was not even opened.
    let was_called = match &outcome {
        Ok(_) => true,
        Err(error) => matches!(error.kind(), Kind::CallFailed | Kind::Exception),
    };
    let place = was_called.then(|| Place::of_service(&arguments.name));
    if let Some(address) = place.and_then(|place| place.link) {
        note(format_args!(
            "anybinder: {} was called over {address}.",
            arguments.name
        ));
    }
    outcome
}
