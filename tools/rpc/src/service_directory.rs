// SPDX-License-Identifier: Apache-2.0
//! The object by which a peer chooses among several services at one address: rsbinder's, but a
//! service of it may die and come back while the others go on.
use crate::connections::Life;
use rsbinder::{Binder, Interface, Parcel, Remotable, SIBinder, Status, StatusCode};
use rsbinder::{TransactionCode, FIRST_CALL_TRANSACTION};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub const DESCRIPTOR: &str = "rsbinder.rpc.IServiceDirectory";
const GET_SERVICE: TransactionCode = FIRST_CALL_TRANSACTION;

/// What a peer is told of a service that is exported, but does not live at present.
pub const ABSENT: StatusCode = StatusCode::ServiceSpecific(1);

/// A relay of a service, while the service lives.
pub type Entry = Option<(SIBinder, Life)>;

/// The services of an export, by name.
pub struct Directory {
    entries: Mutex<HashMap<String, Entry>>,
}

impl Directory {
    pub fn new(names: &[String]) -> Arc<Directory> {
        let entries = names.iter().map(|name| (name.clone(), None)).collect();
        Arc::new(Directory {
            entries: Mutex::new(entries),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set(&self, name: &str, entry: Entry) {
        self.lock().insert(name.to_string(), entry);
    }

    /// Whether any service lives.
    pub fn has_any(&self) -> bool {
        self.lock().values().any(Option::is_some)
    }

    /// The object for peers.
    pub fn binder(self: &Arc<Self>) -> SIBinder {
        Interface::as_binder(&Binder::new(Root(self.clone())))
    }
}

struct Root(Arc<Directory>);

impl Remotable for Root {
    fn descriptor() -> &'static str {
        DESCRIPTOR
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        reader: &mut Parcel,
        reply: &mut Parcel,
    ) -> rsbinder::Result<()> {
        if code != GET_SERVICE {
            return Err(StatusCode::UnknownTransaction);
        }
        let name: String = reader.read()?;
        let found = self.0.lock().get(&name).cloned();
        match found {
            Some(Some((relay, life))) => {
                life.note_use(&name);
                reply.write(&Status::from(StatusCode::Ok))?;
                reply.write(&relay)
            }
            Some(None) => reply.write(&Status::from(ABSENT)),
            None => reply.write(&Status::from(StatusCode::NameNotFound)),
        }
    }

    fn on_dump(&self, _: &mut dyn std::io::Write, _: &[String]) -> rsbinder::Result<()> {
        Ok(())
    }
}
