// SPDX-License-Identifier: Apache-2.0
//! A resource of the node: its socket in the kubelet's directory, and its registration.
//!
//! A kubelet that starts removes all sockets of its directory and makes its own anew. The plugin
//! then serves at a new socket and registers again.
use crate::api::{self, DeviceList, Empty, RegisterRequest};
use crate::kubelet_service::Plugin;
use crate::pool::Pool;
use crate::worker::NoAnswer;
use anybinder_cli::output::{note, say};
use std::error::Error;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint, Server};
use tonic_prost::ProstCodec;

/// How often the sockets and the mount are looked at.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long the kubelet may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

type Failure = Box<dyn Error + Send + Sync>;

pub struct Resource {
    /// The name that pods ask for: `anybinder.dev/binder`.
    pub name: String,
    /// The name of its socket.
    pub socket: String,
    pub pool: Arc<Pool>,
}

/// Which file is at a path. The number of an inode alone may be used again.
fn identity(path: &Path) -> Option<(u64, i64, i64)> {
    let data = path.symlink_metadata().ok()?;
    Some((data.ino(), data.ctime(), data.ctime_nsec()))
}

async fn register(kubelet: &Path, resource: &Resource) -> Result<(), Failure> {
    let address = format!("unix://{}", kubelet.display());
    let endpoint = Endpoint::from_shared(address)?
        .timeout(ANSWER)
        .connect_timeout(ANSWER);
    let mut client = tonic::client::Grpc::<Channel>::new(endpoint.connect().await?);
    client.ready().await?;
    let request = tonic::Request::new(RegisterRequest {
        version: api::VERSION.into(),
        endpoint: resource.socket.clone(),
        resource_name: resource.name.clone(),
        options: Some(api::OURS),
    });
    let codec = ProstCodec::<RegisterRequest, Empty>::default();
    let path = PathAndQuery::from_static(api::REGISTER);
    client.unary(request, path, codec).await?;
    Ok(())
}

/// Devices that are to be listed, made where they are missing. They are healthy if the mount is
/// served and its files answer; neither question can keep this from returning.
///
/// * `said`: the error of the last look, which is not said again
async fn look(pool: &Arc<Pool>, said: &mut String) -> DeviceList {
    let asked = pool.clone();
    let asking = tokio::task::spawn_blocking(move || asked.is_served());
    let mut is_healthy = asking.await.unwrap_or(false);
    if is_healthy {
        let asked = pool.clone();
        match pool.worker.run(move || asked.prepare()).await {
            Ok(done) => {
                let text = done.map_or_else(|err| err.to_string(), |()| String::new());
                if !text.is_empty() && text != *said {
                    note(format_args!("anybinder-device-plugin: {text}"));
                }
                *said = text;
            }
            Err(NoAnswer) => is_healthy = false,
        }
    }
    DeviceList {
        devices: pool.list(is_healthy),
    }
}

/// Serves until a kubelet has taken the place of the one that is registered with.
async fn serve_one_kubelet(directory: &Path, resource: &Resource) -> Result<(), Failure> {
    let kubelet = directory.join(api::KUBELET_SOCKET);
    let socket = directory.join(&resource.socket);
    match std::fs::remove_file(&socket) {
        Err(err) if err.kind() != std::io::ErrorKind::NotFound => return Err(err.into()),
        _ => {}
    }
    let incoming = UnixListenerStream::new(UnixListener::bind(&socket)?);
    let ours = identity(&socket);
    let mut said = String::new();
    let (changed, list) = watch::channel(look(&resource.pool, &mut said).await);
    let plugin = Plugin {
        name: resource.name.clone(),
        pool: resource.pool.clone(),
        list,
    };
    let server = Server::builder()
        .add_service(plugin)
        .serve_with_incoming(incoming);
    let server = tokio::spawn(server);
    let result = match register(&kubelet, resource).await {
        Ok(()) => {
            say(format_args!(
                "anybinder-device-plugin: {} is registered",
                resource.name
            ));
            // A kubelet that has begun since then has removed our socket.
            let serving = identity(&kubelet);
            while identity(&kubelet) == serving && identity(&socket) == ours && ours.is_some() {
                tokio::time::sleep(INTERVAL).await;
                let now = look(&resource.pool, &mut said).await;
                changed.send_if_modified(|list| std::mem::replace(list, now.clone()) != now);
            }
            Ok(())
        }
        failed => failed,
    };
    server.abort();
    result
}

/// Does not return.
pub async fn serve(directory: PathBuf, resource: Resource) {
    let mut said = String::new();
    loop {
        let text = match serve_one_kubelet(&directory, &resource).await {
            Ok(()) => "the kubelet was started again".to_string(),
            Err(err) => format!("cannot register: {}", reasons(err.as_ref())),
        };
        // An error that stays is said once.
        if text != said {
            note(format_args!(
                "anybinder-device-plugin: {}: {text}",
                resource.name
            ));
        }
        said = text;
        tokio::time::sleep(INTERVAL).await;
    }
}

/// What an error says, and what the errors say that caused it.
fn reasons(error: &dyn Error) -> String {
    let cause = error.source().map(reasons);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}
