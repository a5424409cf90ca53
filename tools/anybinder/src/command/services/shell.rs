// SPDX-License-Identifier: Apache-2.0
//! `anybinder shell NAME [ARGUMENT]...`: a shell command of a service, as Android's `cmd`: the
//! service is given standard input, output and error, and sends its result to a receiver.
use super::arguments::{refused, unreachable, Arguments};
use anybinder_cli::error::{Doing, Error, Kind, Result};
use anybinder_client::device;
use anybinder_client::output_stream::{cut_error, Stream};
use anybinder_client::raw::Request;
use anybinder_mount::context::Context;
use anybinder_parcel::encode::Parcel as Plan;
use anybinder_rpc::parcel_bytes::is_manager;
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
    /// None if the output was cut before there was one.
    result: Option<i32>,
    output: String,
    error: String,
}

/// What a shell command waits for.
enum Event {
    Result(i32),
    Died,
    /// The command was not accepted.
    Refused(StatusCode),
    /// The service wrote more than --max-output.
    Cut,
}

/// Gets the result, and the death of the service.
struct Receiver {
    results: Mutex<Sender<Event>>,
}

impl Receiver {
    fn send(&self, result: Event) {
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
        self.send(Event::Result(reader.read_i32()?));
        Ok(())
    }

    fn on_dump(&self, _writer: &mut dyn std::io::Write, _args: &[String]) -> rsbinder::Result<()> {
        Ok(())
    }
}

impl DeathRecipient for Receiver {
    fn binder_died(&self, _who: &WIBinder) {
        self.send(Event::Died);
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
    if is_manager(&service) {
        return Err(Error::new(format!("{name} has no shell commands.")).of(Kind::CallFailed));
    }
    if let Some(error) = unreachable(name, &service, "a shell command") {
        return Err(error);
    }
    ProcessState::start_thread_pool();
    let (sender, results) = channel();
    let watcher = Arc::new(Receiver {
        results: Mutex::new(sender.clone()),
    });
    let dead = |_| Error::new(format!("{name} is dead; it had no result.")).of(Kind::CallFailed);
    service.link_to_death_arc(&watcher).map_err(dead)?;
    let receiver = Binder::new(Receiver {
        results: Mutex::new(sender.clone()),
    });
    let most = arguments.most.max_output;
    let on_cut = || {
        let sender = sender.clone();
        move || drop(sender.send(Event::Cut))
    };
    let output = Stream::new(std::io::stdout(), (context.json, most), on_cut())?;
    let error = Stream::new(std::io::stderr(), (context.json, most), on_cut())?;
    let receiver = Interface::as_binder(&receiver);
    let request = request(&arguments.arguments, &output, &error, &receiver)?;
    // The service may do the whole command before it replies.
    std::thread::spawn(move || {
        let sent = request.send(&service, rsbinder::SHELL_COMMAND_TRANSACTION, 0);
        if let Err(status) = sent {
            let _ = sender.send(Event::Refused(status));
        }
    });
    let result = match results.recv().unwrap_or(Event::Died) {
        Event::Result(result) => Some(result),
        Event::Cut => None,
        Event::Died => return Err(dead(StatusCode::DeadObject)),
        Event::Refused(status) => return Err(refused(name, "shell commands", status)),
    };
    let (output, error) = match result {
        Some(_) => (output.finish(), error.finish()),
        None => (output.abandon(), error.abandon()),
    };
    let is_cut = output.is_cut || error.is_cut;
    let outcome = Outcome {
        result,
        output: output.text,
        error: error.text,
    };
    context.show(&outcome, |_| {});
    match (is_cut, result) {
        (false, Some(result)) => Ok(ExitCode::from(result as u8)),
        _ => Err(cut_error(name, most)),
    }
}
