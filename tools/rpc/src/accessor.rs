// SPDX-License-Identifier: Apache-2.0
//! `android.os.IAccessor`: how a client of Android 16 gets a service of another machine. The
//! service manager gives it an accessor instead of the service; it asks that for connected sockets,
//! and speaks RPC Binder over them by itself.
use crate::export::WIRE_VERSION;
use anybinder_mount::error::{Doing, Result};
use rsbinder::hub::android_16::{BnAccessor, IAccessor, ERROR_FAILED_TO_CREATE_SOCKET};
use rsbinder::rpc::transport::UnixTransport;
use rsbinder::rpc::RpcServer;
use rsbinder::{BinderResult, Interface, ParcelFileDescriptor, SIBinder, Status};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// What the name of an accessor begins with, before that of the service: as in Android's manifests.
pub const PREFIX: &str = "android.os.IAccessor/";

struct Accessor {
    name: String,
    /// Serves the other ends of the sockets; it listens nowhere.
    server: Arc<RpcServer>,
}

impl Interface for Accessor {}

impl IAccessor for Accessor {
    fn addConnection(&self) -> BinderResult<ParcelFileDescriptor> {
        let failed = |why: String| {
            Status::new_service_specific_error(ERROR_FAILED_TO_CREATE_SOCKET, Some(why))
        };
        let (own, theirs) = UnixStream::pair().map_err(|err| failed(err.to_string()))?;
        let transport = UnixTransport::from_stream(own).map_err(|err| failed(err.to_string()))?;
        self.server.serve_connection(Box::new(transport));
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
    let unused = format!("anybinder-accessor-{}-{name}", std::process::id());
    let server = RpcServer::setup_unix_server_abstract(unused.as_bytes()).doing(doing)?;
    server.set_android13plus(WIRE_VERSION);
    server.set_max_threads(threads);
    server.set_root(root).doing(doing)?;
    let accessor = BnAccessor::new_binder(Accessor {
        name: name.to_string(),
        server,
    });
    Ok(Interface::as_binder(&*accessor))
}
