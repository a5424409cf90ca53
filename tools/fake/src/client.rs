// SPDX-License-Identifier: Apache-2.0
//! Calls that the controlling program makes: one process makes all of them, so that a call takes no
//! longer than its way to the service and back. A name is looked up for each call, so that a
//! service which was started anew is found at once.
use crate::bus::{Bus, Failure};
use crate::methods::Interface;
use crate::serve::{lock, name_file, Fake};
use anybinder_client::raw_manager::STRICT_MODE;
use anybinder_driver::driver::{Driver, Event};
use anybinder_driver::parcel::{Parcel, Reader, Speaker};
use anybinder_parcel::aidl::syntax::Direction;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::{Format, Object, Parcel as Plan};
use anybinder_parcel::method;
use anybinder_rpc::status_text::name_of;
use rsbinder::{StatusCode, INTERFACE_TRANSACTION};
use serde::Deserialize;
use serde_json::{json, Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

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

/// What a name stood for, with a reference of ours.
struct Known {
    handle: u32,
    speaker: Speaker,
    interface: Arc<Interface>,
}

/// What calls share.
#[derive(Default)]
pub struct Client {
    known: Mutex<HashMap<String, Arc<Known>>>,
}

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

/// The arguments by their names: a list has the order of declaration.
fn by_name(
    called: &anybinder_parcel::aidl::library::Called,
    given: Value,
) -> Result<Map<String, Value>, String> {
    let inputs = called.method.arguments.iter();
    let names: Vec<&String> = inputs
        .filter(|one| one.direction != Direction::Out)
        .map(|one| &one.name)
        .collect();
    let wrong = |what: String| {
        let all: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        format!("{}({}) {what}", called.method.name, all.join(", "))
    };
    match given {
        Value::Null if names.is_empty() => Ok(Map::new()),
        Value::Array(values) if values.len() == names.len() => Ok(names
            .iter()
            .map(|name| (*name).clone())
            .zip(values)
            .collect()),
        Value::Object(values) => match values.keys().find(|key| !names.contains(key)) {
            Some(other) => Err(wrong(format!("takes no {other}"))),
            None => Ok(values),
        },
        Value::Array(values) => Err(wrong(format!("was given {} arguments", values.len()))),
        _ => Err(wrong("was given no list of arguments".to_string())),
    }
}

impl Client {
    /// Makes a call. Returns the members of the line that says what came of it.
    pub fn call(&self, fake: &Arc<Fake>, driver: &mut Driver, request: Request) -> Value {
        match self.result(fake, driver, request) {
            Ok(value) | Err(value) => value,
        }
    }

    fn result(
        &self,
        fake: &Arc<Fake>,
        driver: &mut Driver,
        request: Request,
    ) -> Result<Value, Value> {
        let known = self.target(fake, driver, &request)?;
        let called = known.interface.by_name(&request.method).map_err(error)?;
        let given = by_name(called, request.arguments).map_err(error)?;
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
        self.find_objects(fake, driver, &mut plan)?;
        let mut parcel = known.speaker.call(STRICT_MODE, &known.interface.descriptor);
        let filled = fake.bus.fill(&mut parcel, &plan, known.speaker.level);
        let _files = filled.map_err(error)?;
        let mut serve = |driver: &mut Driver, event: Event| fake.event(driver, event);
        let target = (known.handle, called.code, called.method.is_oneway);
        let reply = Bus::call(driver, target, parcel, &mut serve).map_err(|why| failure(&why))?;
        // Objects of a reply stay, and so do its files.
        driver.keep_handles(&reply);
        driver.give_back(&reply);
        if called.method.is_oneway {
            return Ok(json!({ "result": null, "out": {} }));
        }
        let library = lock(&fake.library);
        let mut decoder = Decoder::new(&reply.data, Some(&library));
        decoder.format = Format::of(known.speaker.level);
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
    fn find_objects(
        &self,
        fake: &Arc<Fake>,
        driver: &mut Driver,
        plan: &mut Plan,
    ) -> Result<(), Value> {
        for (_, object) in &mut plan.objects {
            if let Object::Service(name) = object {
                let library = lock(&fake.library);
                *name = fake.find(&library, driver, name).map_err(error)?;
            }
        }
        Ok(())
    }

    fn target(
        &self,
        fake: &Arc<Fake>,
        driver: &mut Driver,
        request: &Request,
    ) -> Result<Arc<Known>, Value> {
        let mut serve = |driver: &mut Driver, event: Event| fake.event(driver, event);
        let (name, handle) = match &request.to {
            Target::Handle { handle } => (format!("handle {handle}"), *handle),
            Target::Name(name) => {
                let found = fake.bus.find(driver, name, &mut serve);
                let found = found.map_err(|err| error(err.line()))?;
                let status = i32::from(StatusCode::NameNotFound);
                let none = || {
                    json!({
                        "status": status, "name": name_of(status),
                        "message": format!("no service is registered as {name}"),
                    })
                };
                (name.clone(), found.ok_or_else(none)?)
            }
        };
        let is_named = matches!(request.to, Target::Name(_));
        let known = lock(&self.known).get(&name).cloned();
        if let Some(known) = known.filter(|known| known.handle == handle) {
            // The reference of the lookup is one too many.
            if is_named {
                driver.release(handle);
            }
            return Ok(known);
        }
        let asked = (handle, INTERFACE_TRANSACTION, false);
        let told = Bus::call(driver, asked, Parcel::default(), &mut serve);
        let told = told.map_err(|why| failure(&why))?;
        let descriptor = Reader::new(&told.data, &told.offsets).string16();
        driver.give_back(&told);
        let descriptor = descriptor.map_err(|_| error(format!("{name} tells no interface")))?;
        let speaker = fake.bus.manager.speaker_of(driver, &name, &mut serve);
        let wanted = request.interface.as_deref().unwrap_or(&descriptor);
        let interface = Interface::find(&lock(&fake.library), wanted);
        let interface = interface.ok_or_else(|| {
            error(format!(
                "no .aidl file declares the interface {wanted} of {name}"
            ))
        })?;
        let known = Arc::new(Known {
            handle,
            speaker,
            interface,
        });
        let old = lock(&self.known).insert(name, known.clone());
        if let Some(old) = old.filter(|_| is_named) {
            driver.release(old.handle);
        }
        Ok(known)
    }
}
