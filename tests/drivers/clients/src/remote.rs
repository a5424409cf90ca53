// SPDX-License-Identifier: Apache-2.0
//! A service and a client without a driver, which speak RPC Binder at a wire version of choice: as
//! those of older Android releases.
use crate::aidl::{BnPeer, IPeer};
use crate::fixture::Verdict;
use crate::gateway;
use crate::peer_process::Peer;
use rsbinder::rpc::{RpcClientConfig, RpcServer, RpcSession};
use rsbinder::{FromIBinder, Interface};
use std::path::Path;

/// Connections in each direction.
const CONNECTIONS: u32 = 4;

/// Serves at a Unix socket until it is killed.
pub fn serve(socket: &Path, version: u32) -> Verdict {
    let server = RpcServer::setup_unix_server(socket)?;
    server.set_android13plus(version);
    server.set_max_threads(CONNECTIONS);
    server.set_root(Interface::as_binder(&*BnPeer::new_binder(Peer::default())))?;
    println!("ready");
    Ok(server.run()?)
}

/// Calls what is exported at a Unix socket.
pub fn call(socket: &Path, version: u32) -> Verdict {
    let config = RpcClientConfig::unix(socket, version)
        .outgoing_connections(CONNECTIONS)
        .incoming_connections(CONNECTIONS);
    let session = RpcSession::setup_client_android13plus_with_config(config)?;
    if session.wire_protocol_version() != Some(version) {
        return Err("another version was agreed on".into());
    }
    let far = <dyn IPeer as FromIBinder>::try_from(session.get_root()?)?;
    gateway::all_but_files(&far)
}
