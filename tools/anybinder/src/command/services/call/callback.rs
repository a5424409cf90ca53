// SPDX-License-Identifier: Apache-2.0
//! An object for a service to call: it prints each call of its interface, which a `.aidl` file
//! declares, and answers with zeros and empty values.
use crate::command::services::interface_files;
use anybinder_cli::error::{Doing, Result};
use anybinder_cli::output::say;
use anybinder_client::objects::name_files;
use anybinder_parcel::aidl::library::Called;
use anybinder_parcel::aidl::{Library, Roots};
use anybinder_parcel::encode::Format;
use anybinder_parcel::header;
use anybinder_parcel::interface_methods::Interface;
use anybinder_rpc::parcel_bytes;
use rsbinder::{
    ExceptionCode, IBinder, Parcel, SIBinder, Stability, Status, StatusCode, Transactable,
    TransactionCode, INTERFACE_TRANSACTION, PING_TRANSACTION,
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The calls of an object that are not printed.
pub type Calls = Arc<Mutex<Vec<Received>>>;

/// A call of such an object.
#[derive(Clone, Debug, Serialize)]
pub struct Received {
    interface: String,
    method: String,
    arguments: Map<String, Value>,
}

struct Callback {
    library: Mutex<Library>,
    interface: Arc<Interface>,
    /// None to print them.
    collected: Option<Calls>,
}

/// An object of an interface of these `.aidl` files.
///
/// * `collected`: where its calls go that are not to be printed
pub fn new(roots: &Roots, interface: &str, collected: Option<&Calls>) -> Result<SIBinder> {
    let library = interface_files::open(roots)?;
    let callback = Callback {
        interface: interface_files::declared(&library, interface)?,
        library: Mutex::new(library),
        collected: collected.cloned(),
    };
    SIBinder::new(Arc::new(callback)).doing(|| "making an object".to_string())
}

impl Callback {
    fn library(&self) -> MutexGuard<'_, Library> {
        self.library.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, called: &Called, mut arguments: Map<String, Value>) {
        arguments.values_mut().for_each(name_files);
        let received = Received {
            interface: self.interface.descriptor.clone(),
            method: called.method.name.clone(),
            arguments,
        };
        match &self.collected {
            Some(collected) => {
                let mut collected = collected.lock().unwrap_or_else(PoisonError::into_inner);
                collected.push(received);
            }
            None => {
                let given = received.arguments.iter();
                let given: Vec<String> =
                    given.map(|(name, one)| format!("{name}: {one}")).collect();
                say(format_args!(
                    "called: {}.{}({})",
                    received.interface,
                    received.method,
                    given.join(", ")
                ));
            }
        }
    }

    fn call(&self, code: TransactionCode, data: &[u8], reply: &mut Parcel) -> rsbinder::Result<()> {
        let library = self.library();
        let called = self.interface.own().iter().find(|one| one.code == code);
        let called = called.ok_or(StatusCode::UnknownTransaction)?;
        let method = self.interface.method(&library, called);
        let read = method.read_request(data, Format::default());
        let outcome = read.and_then(|arguments| {
            self.tell(called, arguments);
            method.reply(None, &Map::new()).map_err(String::from)
        });
        match outcome {
            Ok(plan) => parcel_bytes::write(reply, &plan.data),
            Err(why) => reply.write(&Status::from((
                ExceptionCode::UnsupportedOperation,
                format!("anybinder call cannot answer: {why}").as_str(),
            ))),
        }
    }
}

impl Transactable for Callback {
    fn transact(
        &self,
        code: TransactionCode,
        reader: &mut Parcel,
        reply: &mut Parcel,
    ) -> rsbinder::Result<()> {
        match code {
            PING_TRANSACTION => Ok(()),
            INTERFACE_TRANSACTION => reply.write(&self.interface.descriptor),
            rsbinder::FIRST_CALL_TRANSACTION..=rsbinder::LAST_CALL_TRANSACTION => {
                let bytes = parcel_bytes::read_header(reader, &self.interface.descriptor)?;
                let found = header::place(&bytes, &self.interface.descriptor);
                let (_, start) = found.ok_or(StatusCode::BadType)?;
                let data = parcel_bytes::read(reader, start)?;
                self.call(code, &data, reply)
            }
            _ => Err(StatusCode::UnknownTransaction),
        }
    }
}

impl IBinder for Callback {
    anybinder_rpc::local_binder!();

    fn ping_binder(&self) -> rsbinder::Result<()> {
        Ok(())
    }

    fn descriptor(&self) -> &str {
        &self.interface.descriptor
    }

    fn stability(&self) -> Stability {
        Stability::default()
    }
}
