// SPDX-License-Identifier: Apache-2.0
//! Asks the service manager for services, and nothing of the services themselves, which may hang.
//! A lookup gives this process a handle of a service, and the driver's report says which node that
//! handle leads to.
use crate::command::services::list::{self, Service};
use anybinder_cli::error::{Error, Result};
use anybinder_client::device;
use anybinder_client::raw::{Reply, Request};
use anybinder_mount::mount::Mount;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::Parcel;
use anybinder_parcel::status;
use anybinder_parcel::types::{Kind, Type};
use anybinder_rpc::foreign::Foreign;
use rsbinder::hub::ServiceManager;
use rsbinder::{ProcessState, SIBinder};
use std::sync::Arc;

/// What `getService` is at every level of the service manager.
const GET_SERVICE: u32 = 1;

/// A handle of a service, which leads to it as long as this is kept.
pub struct Held {
    pub handle: u32,
    _reply: Reply,
}

pub struct Lookup {
    pub manager: Arc<ServiceManager>,
    object: SIBinder,
    /// If it is one of an older level.
    foreign: Option<Foreign>,
}

impl Lookup {
    /// The device must be open. Fails if it has no service manager, or that refuses.
    pub fn open(mount: &Mount, device: &str) -> Result<Lookup> {
        let manager = device::service_manager(mount, device)?;
        let object = ProcessState::as_self()
            .context_object()
            .map_err(|err| Error::new(format!("The service manager does not answer: {err:?}.")))?;
        Ok(Lookup {
            foreign: device::foreign(),
            manager,
            object,
        })
    }

    /// All services. None if the service manager refuses that.
    pub fn services(&self) -> Vec<Service> {
        list::services_of(&self.manager, self.foreign.as_ref()).unwrap_or_default()
    }

    /// None if there is no such service, or it is one that only this process would call.
    pub fn hold(&self, name: &str) -> Option<Held> {
        let mut request = Request::with_header(&self.object).ok()?;
        let mut plan = Parcel::default();
        plan.string16(name);
        let no_service = |_: &str| Err(Error::new("A name has no objects."));
        request.append(&plan, &no_service).ok()?;
        let reply = request.send(&self.object, GET_SERVICE, 0).ok()?;
        let mut decoder = Decoder::new(&reply.data, None);
        if !matches!(status::read(&mut decoder), Ok(None)) {
            return None;
        }
        let object = decoder.value(&Type::of(Kind::Binder), 0).ok()?;
        let handle = u32::try_from(object.get("handle")?.as_u64()?).ok()?;
        Some(Held {
            handle,
            _reply: reply,
        })
    }
}
