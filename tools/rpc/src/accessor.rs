// SPDX-License-Identifier: Apache-2.0
//! `android.os.IAccessor`: how a client of Android 16 gets a service of another machine. The
//! service manager gives it an accessor instead of the service; it asks that for connected sockets,
//! and speaks RPC Binder over them by itself.
use crate::connections::{SlotTransport, Slots};
use crate::export::WIRE_VERSION;
use crate::listener;
use anybinder_cli::error::{Doing, Result};
use rsbinder::get_calling_uid;
use rsbinder::hub::android_16::{BnAccessor, IAccessor, ERROR_FAILED_TO_CREATE_SOCKET};
use rsbinder::rpc::transport::UnixTransport;
use rsbinder::rpc::RpcServer;
use rsbinder::{BinderResult, Interface, ParcelFileDescriptor, SIBinder, Status};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// What the name of an accessor begins with, before that of the service: as in Android's manifests.
pub const PREFIX: &str = "android.os.IAccessor/";

/// How many connections clients may have.
const MOST: usize = 128;

struct Accessor {
    name: String,
    /// Serves the other ends of the sockets; it accepts none.
    server: Arc<RpcServer>,
    slots: Arc<Slots>,
}

impl Interface for Accessor {}

impl IAccessor for Accessor {
    fn addConnection(&self) -> BinderResult<ParcelFileDescriptor> {
        let failed = |why: String| {
            Status::new_service_specific_error(ERROR_FAILED_TO_CREATE_SOCKET, Some(why))
        };
        let caller = format!("user {}", get_calling_uid());
        let slot = self.slots.take(&caller, Duration::ZERO);
        let slot = slot.ok_or_else(|| failed("there are too many connections".to_string()))?;
        let (own, theirs) = UnixStream::pair().map_err(|err| failed(err.to_string()))?;
        let socket = own.try_clone().map_err(|err| failed(err.to_string()))?;
        let transport = UnixTransport::from_stream(own).map_err(|err| failed(err.to_string()))?;
        let placed = SlotTransport::new(Box::new(transport), socket.into(), slot);
        self.server.serve_connection(Box::new(placed));
        Ok(ParcelFileDescriptor::new(theirs))
    }

    fn getInstanceName(&self) -> BinderResult<String> {
        Ok(self.name.clone())
    }
}

/// An accessor for a service.
///
/// * `root`: the relay of the service
pub fn new(name: &str, root: SIBinder, threads: u32) -> Result<SIBinder> {
    let doing = || format!("making an accessor of {name}");
    let server = listener::server("accessor")?;
    server.set_android13plus(WIRE_VERSION);
    server.set_max_threads(threads);
    server.set_root(root).doing(doing)?;
    let accessor = BnAccessor::new_binder(Accessor {
        name: name.to_string(),
        server,
        slots: Slots::new(MOST),
    });
    Ok(Interface::as_binder(&*accessor))
}
