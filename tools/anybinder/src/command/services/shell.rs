// SPDX-License-Identifier: Apache-2.0
//! `anybinder shell NAME [ARGUMENT]...`: a shell command of a service, as Android's `cmd`: the
//! service is given standard input, output and error, and sends its result to a receiver.
use super::arguments::Arguments;
use anybinder_client::device;
use anybinder_client::raw::Request;
use anybinder_client::stream::Stream;
use anybinder_mount::context::Context;
use anybinder_mount::error::{Doing, Error, Kind, Result};
use anybinder_parcel::encode::Parcel as Plan;
use rsbinder::{
    Binder, DeathRecipient, Interface, Parcel, ProcessState, Remotable, StatusCode,
    TransactionCode, WIBinder,
};
use serde::Serialize;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};

/// `send` of com.android.internal.os.IResultReceiver.
const SEND: TransactionCode = 1;

#[derive(Serialize)]
struct Outcome {
    result: i32,
    output: String,
    error: String,
}

/// Gets the result; None when the service died.
struct Receiver {
    results: Mutex<Sender<Option<i32>>>,
}

impl Receiver {
    fn send(&self, result: Option<i32>) {
        if let Ok(results) = self.results.lock() {
            let _ = results.send(result);
        }
    }
}

impl Interface for Receiver {}

impl Remotable for Receiver {
    fn descriptor() -> &'static str {
        "com.android.internal.os.IResultReceiver"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        reader: &mut Parcel,
        _reply: &mut Parcel,
    ) -> rsbinder::Result<()> {
        if code != SEND {
            return Err(StatusCode::UnknownTransaction);
        }
        // A bundle may follow; it is of no interest.
        self.send(Some(reader.read_i32()?));
        Ok(())
    }

    fn on_dump(&self, _writer: &mut dyn std::io::Write, _args: &[String]) -> rsbinder::Result<()> {
        Ok(())
    }
}

impl DeathRecipient for Receiver {
    fn binder_died(&self, _who: &WIBinder) {
        self.send(None);
    }
}

/// The request: three descriptors, the arguments, no callback for files, the receiver.
fn request(
    arguments: &[String],
    output: &Stream,
    error: &Stream,
    receiver: &rsbinder::SIBinder,
) -> Result<Request> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let mut request = Request::default();
    request.append_file(input.doing(|| "duplicating standard input".to_string())?);
    request.append_file(output.end()?);
    request.append_file(error.end()?);
    let mut plan = Plan::default();
    plan.word(arguments.len() as u32);
    arguments.iter().for_each(|one| plan.string16(one));
    plan.null_binder();
    request.append(&plan, &|name| {
        Err(Error::new(format!("{name} is not needed.")))
    })?;
    request.append_binder(receiver)?;
    Ok(request)
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let name = &arguments.name;
    device::open(&context.mount, &arguments.device.device, 1)?;
    let service = device::look_up(&context.mount, &arguments.device.device, name)?;
    ProcessState::start_thread_pool();
    let (sender, results) = channel();
    let watcher = Arc::new(Receiver {
        results: Mutex::new(sender.clone()),
    });
    let dead = |_| Error::new(format!("{name} died before it had a result.")).of(Kind::CallFailed);
    service.link_to_death_arc(&watcher).map_err(dead)?;
    let receiver = Binder::new(Receiver {
        results: Mutex::new(sender),
    });
    let output = Stream::new(std::io::stdout(), context.json)?;
    let error = Stream::new(std::io::stderr(), context.json)?;
    let receiver = Interface::as_binder(&receiver);
    let request = request(&arguments.arguments, &output, &error, &receiver)?;
    let sent = request.send(&service, rsbinder::SHELL_COMMAND_TRANSACTION, 0);
    sent.map_err(|err| device::call_error(&format!("{name} has no shell commands"), err))?;
    let result = results.recv().ok().flatten();
    let outcome = Outcome {
        result: result.ok_or(StatusCode::DeadObject).map_err(dead)?,
        output: output.finish(),
        error: error.finish(),
    };
    context.show(&outcome, |_| {});
    Ok(ExitCode::from(outcome.result as u8))
}
