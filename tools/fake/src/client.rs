// SPDX-License-Identifier: Apache-2.0
//! Calls that the controlling program makes: one process makes all of them, so that a call takes no
//! longer than its way to the service and back. A service that was found is kept until it is dead,
//! or until the program says that names may stand for others (`forget`).
use crate::bus::{Bus, Failure};
use crate::known::Known;
use crate::methods::{arguments_by_name, Interface};
use crate::serve::{lock, name_file, Fake};
use anybinder_client::raw_manager::STRICT_MODE;
use anybinder_driver::driver::{Driver, Event};
use anybinder_driver::parcel::{Parcel, Reader};
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::{Format, Object, Parcel as Plan};
use anybinder_parcel::method;
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

fn result(fake: &Arc<Fake>, driver: &mut Driver, request: Request) -> Result<Value, Value> {
    let known = target(fake, driver, &request)?;
    let called = known.interface.by_name(&request.method).map_err(error)?;
    let given = arguments_by_name(called, request.arguments).map_err(error)?;
    let mut plan = {
        let library = lock(&fake.library);
        let of = (&*library, &*known.interface.entry);
        method::request(of, called, &given, Format::default()).map_err(|misfit| {
            error(format!(
                "{}({}): {}",
                request.method, misfit.path, misfit.what
            ))
        })?
    };
    find_objects(fake, driver, &mut plan)?;
    let mut parcel = known.speaker.call(STRICT_MODE, &known.interface.descriptor);
    let filled = fake.bus.fill(&mut parcel, &plan, known.speaker.level);
    let _files = filled.map_err(error)?;
    let mut serve = |driver: &mut Driver, event: Event| fake.event(driver, event);
    let target = (known.handle, called.code, called.method.is_oneway);
    let reply = Bus::call(driver, target, parcel, &mut serve).map_err(|why| {
        if matches!(why, Failure::Status(StatusCode::DeadObject)) {
            fake.known.forget(driver, |one| one.handle == known.handle);
        }
        failure(&why)
    })?;
    // Objects of a reply stay, and so do its files.
    driver.keep_handles(&reply);
    driver.give_back(&reply);
    if reply.data.len() > SMALL || !reply.offsets.is_empty() {
        let _ = driver.flush();
    }
    if called.method.is_oneway {
        return Ok(json!({ "result": null, "out": {} }));
    }
    let library = lock(&fake.library);
    let mut decoder = Decoder::new(&reply.data, Some(&library));
    decoder.format = Format::Driver(known.speaker.level);
    match method::answer(&library, &known.interface.entry, called, &mut decoder) {
        Ok(Ok(answer)) => {
            let mut line = json!({ "result": answer.result, "out": answer.out });
            name_file(&mut line);
            Ok(line)
        }
        Ok(Err(exception)) => Err(json!({
            "exception": exception.aidl_name(), "number": exception.code,
            "code": exception.service_code, "message": exception.message,
        })),
        Err(err) => Err(error(format!(
            "the reply does not fit {}: {err}",
            request.method
        ))),
    }
}

/// Names of services in arguments become handles, `new INTERFACE` objects.
fn find_objects(fake: &Arc<Fake>, driver: &mut Driver, plan: &mut Plan) -> Result<(), Value> {
    for (_, object) in &mut plan.objects {
        if let Object::Service(name) = object {
            let library = lock(&fake.library);
            *name = fake.find(&library, driver, name).map_err(error)?;
        }
    }
    Ok(())
}

/// Asks an object for its interface.
fn known(
    (fake, driver): (&Arc<Fake>, &mut Driver),
    (name, handle): (&str, u32),
    wanted: Option<&str>,
) -> Result<Arc<Known>, Value> {
    let mut serve = |driver: &mut Driver, event: Event| fake.event(driver, event);
    let asked = (handle, INTERFACE_TRANSACTION, false);
    let told = Bus::call(driver, asked, Parcel::default(), &mut serve);
    let told = told.map_err(|why| failure(&why))?;
    let descriptor = Reader::new(&told.data, &told.offsets).string16();
    driver.give_back(&told);
    let descriptor = descriptor.map_err(|_| error(format!("{name} tells no interface")))?;
    let speaker = fake.bus.manager.speaker_of(driver, name, &mut serve);
    let wanted = wanted.unwrap_or(&descriptor);
    let interface = Interface::find(&lock(&fake.library), wanted);
    let interface = interface.ok_or_else(|| {
        error(format!(
            "no .aidl file declares the interface {wanted} of {name}"
        ))
    })?;
    Ok(Arc::new(Known {
        handle,
        speaker,
        interface,
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
            let mut serve = |driver: &mut Driver, event: Event| fake.event(driver, event);
            let found = fake.bus.find(driver, name, &mut serve);
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
