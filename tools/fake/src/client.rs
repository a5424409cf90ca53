// SPDX-License-Identifier: Apache-2.0
//! Calls that the controlling program makes: one process makes all of them, so that a call takes no
//! longer than its way to the service and back. A service that was found is kept until it is dead,
//! or until the program says that names may stand for others (`forget`).
use crate::bus::Failure;
use crate::known::Known;
use crate::lock;
use crate::serve::Fake;
use anybinder_client::objects::name_files;
use anybinder_driver::driver::Driver;
use anybinder_driver::parcel::{Parcel, Reader};
use anybinder_parcel::encode::Format;
use anybinder_parcel::interface_methods::Interface;
use anybinder_rpc::status_text::name_of;
use rsbinder::{StatusCode, INTERFACE_TRANSACTION};
use serde::Deserialize;
use serde_json::{json, Value};
use std::sync::Arc;

/// What is to be called.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Target {
    Name(String),
    Handle { handle: u32 },
}

/// A call to make.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    to: Target,
    method: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    interface: Option<String>,
}

/// Above so many bytes a reply is given back at once, and not with the next call.
const SMALL: usize = 4096;

/// Why there is no result, as a line says it.
fn failure(failure: &Failure) -> Value {
    let status = match failure {
        Failure::Status(status) => i32::from(*status),
        Failure::Request(why) => return json!({ "error": why }),
    };
    json!({ "status": status, "name": name_of(status), "message": failure.text() })
}

fn error(why: impl Into<String>) -> Value {
    json!({ "error": why.into() })
}

/// Makes a call. Returns the members of the line that says what came of it.
pub fn call(fake: &Arc<Fake>, driver: &mut Driver, request: Request) -> Value {
    match result(fake, driver, request) {
        Ok(value) | Err(value) => value,
    }
}

fn result(fake: &Arc<Fake>, driver: &mut Driver, asked: Request) -> Result<Value, Value> {
    let known = target(fake, driver, &asked)?;
    let name = &asked.method;
    let request = {
        let library = lock(&fake.library);
        let method = known.interface.by_name(&library, name).map_err(error)?;
        let given = method.named(asked.arguments).map_err(error)?;
        let mut request = method
            .written(&given)
            .map_err(|misfit| error(format!("{name}({}): {}", misfit.path, misfit.what)))?;
        fake.find_all((&library, driver), &known.interface, &mut request.plan)
            .map_err(error)?;
        request
    };
    let reply = fake.send(driver, (known.handle, known.speaker), &request);
    let reply = reply.map_err(|why| {
        if matches!(why, Failure::Status(StatusCode::DeadObject)) {
            fake.known.forget(driver, |handle| handle == known.handle);
        }
        failure(&why)
    })?;
    // Objects of a reply stay, and so do its files.
    driver.keep_handles(&reply);
    driver.give_back(&reply);
    if reply.data.len() > SMALL || !reply.offsets.is_empty() {
        let _ = driver.flush();
    }
    if request.is_oneway {
        return Ok(json!({ "result": null, "out": {} }));
    }
    let library = lock(&fake.library);
    let method = known.interface.by_name(&library, name).map_err(error)?;
    match method.read_reply(&reply.data, Format::Driver(known.speaker.level)) {
        Ok(Ok(answer)) => {
            let mut line = json!({ "result": answer.result, "out": answer.out });
            name_files(&mut line);
            Ok(line)
        }
        Ok(Err(exception)) => Err(json!({
            "exception": exception.aidl_name(), "number": exception.code,
            "code": exception.service_code, "message": exception.message,
        })),
        Err(err) => Err(error(format!("the reply does not fit {name}: {err}"))),
    }
}

/// Asks an object for its interface.
fn known(
    (fake, driver): (&Arc<Fake>, &mut Driver),
    (name, handle): (&str, u32),
    wanted: Option<&str>,
) -> Result<Arc<Known>, Value> {
    let asked = (handle, INTERFACE_TRANSACTION, false);
    let told = fake.call(driver, asked, Parcel::default());
    let told = told.map_err(|why| failure(&why))?;
    let descriptor = Reader::new(&told.data, &told.offsets).string16();
    driver.give_back(&told);
    let descriptor = descriptor.map_err(|_| error(format!("{name} tells no interface")))?;
    let mut serve = |driver: &mut Driver, event| fake.event(driver, event);
    let speaker = fake.bus.manager.speaker_of(driver, name, &mut serve);
    let wanted = wanted.unwrap_or(&descriptor);
    let interface = Interface::find(&lock(&fake.library), wanted);
    let what = || format!("no .aidl file declares the interface {wanted} of {name}");
    Ok(Arc::new(Known {
        handle,
        speaker,
        interface: interface.ok_or_else(|| error(what()))?,
    }))
}

fn target(fake: &Arc<Fake>, driver: &mut Driver, request: &Request) -> Result<Arc<Known>, Value> {
    let wanted = request.interface.as_deref();
    let name = match &request.to {
        Target::Handle { handle } => format!("handle {handle}"),
        Target::Name(name) => name.clone(),
    };
    if let Some(known) = fake.known.find(&name, wanted) {
        return Ok(known);
    }
    let handle = match &request.to {
        Target::Handle { handle } => {
            // The program has one reference, and this has another one.
            driver.acquire(*handle);
            *handle
        }
        Target::Name(name) => {
            let found = fake.look_up(driver, name);
            found.map_err(|err| error(err.line()))?.ok_or_else(|| {
                let status = i32::from(StatusCode::NameNotFound);
                json!({
                    "status": status, "name": name_of(status),
                    "message": format!("no service is registered as {name}"),
                })
            })?
        }
    };
    let known = known((fake, driver), (&name, handle), wanted);
    let known = known.inspect_err(|_| driver.release(handle))?;
    fake.known.keep(driver, name, &known);
    Ok(known)
}
