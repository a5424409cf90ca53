// SPDX-License-Identifier: Apache-2.0
//! The plugin as a gRPC service: which call is answered by what.
use crate::api::{self, AllocateRequest, AllocateResponse, BeforeStart, DeviceList, Empty};
use crate::pool::{Pool, Refusal};
use crate::worker::NoAnswer;
use anybinder_cli::output::say;
use std::convert::Infallible;
use std::future::{ready, Future};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::StreamExt;
use tonic::body::Body;
use tonic::codegen::{http, BoxFuture, Service};
use tonic::server::{Grpc, NamedService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;

/// How many characters of the names of devices a line of the log has.
const LOGGED: usize = 256;

#[derive(Clone)]
pub struct Plugin {
    /// The resource, for messages.
    pub name: String,
    pub pool: Arc<Pool>,
    /// What the kubelet is told whenever it changes.
    pub list: watch::Receiver<DeviceList>,
}

impl NamedService for Plugin {
    const NAME: &'static str = "v1beta1.DevicePlugin";
}

async fn unary<M, R, F>(
    request: http::Request<Body>,
    answer: impl Fn(M) -> F,
) -> http::Response<Body>
where
    M: prost::Message + Default + 'static,
    R: prost::Message + Default + 'static,
    F: Future<Output = Result<R, Status>>,
{
    let service = service_fn(|request: Request<M>| {
        let reply = answer(request.into_inner());
        async { reply.await.map(Response::new) }
    });
    let codec = ProstCodec::<R, M>::default();
    Grpc::new(codec).unary(service, request).await
}

/// The list, and again whenever it has changed.
async fn follow(
    list: watch::Receiver<DeviceList>,
    request: http::Request<Body>,
) -> http::Response<Body> {
    let service = service_fn(|_: Request<Empty>| {
        let lists = WatchStream::new(list.clone()).map(Ok::<_, Status>);
        ready(Ok::<_, Status>(Response::new(lists)))
    });
    let codec = ProstCodec::<DeviceList, Empty>::default();
    Grpc::new(codec).server_streaming(service, request).await
}

/// What the kubelet is told while the mount does not answer.
fn unavailable() -> Status {
    Status::unavailable("the Binder devices of this node are not served: see `anybinder status`")
}

impl Plugin {
    /// Has `work` look at the mount. Fails at once while the devices are listed as unhealthy, and
    /// soon if the mount does not answer.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Pool) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Status> {
        if !self.list.borrow().is_healthy() {
            return Err(unavailable());
        }
        let pool = self.pool.clone();
        let done = self.pool.worker.run(move || work(&pool)).await;
        let refused = |err: Refusal| Status::failed_precondition(err.to_string());
        done.map_err(|NoAnswer| unavailable())?.map_err(refused)
    }

    async fn allocate(&self, request: AllocateRequest) -> Result<AllocateResponse, Status> {
        // Each takes time, and no other request is served meanwhile.
        if request.containers.len() > self.pool.count as usize {
            return Err(Status::invalid_argument("more containers than devices"));
        }
        let ids = request.containers.iter().map(|one| one.ids.join("+"));
        let ids = ids.collect::<Vec<String>>().join(", ");
        let ids: String = ids.chars().take(LOGGED).collect();
        let work = move |pool: &Pool| {
            let containers = request.containers.iter();
            containers.map(|one| pool.allocate(&one.ids)).collect()
        };
        let given = self.ask(work).await;
        let what = match &given {
            Ok(_) => "given".to_string(),
            Err(status) => format!("not given: {}", status.message()),
        };
        say(format_args!(
            "anybinder-device-plugin: {}: {ids}: {what}",
            self.name
        ));
        Ok(AllocateResponse { containers: given? })
    }

    async fn check(&self, request: BeforeStart) -> Result<Empty, Status> {
        self.ask(move |pool: &Pool| pool.check(&request.ids))
            .await?;
        Ok(Empty {})
    }
}

impl Service<http::Request<Body>> for Plugin {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let plugin = self.clone();
        Box::pin(async move {
            Ok(match request.uri().path() {
                api::OPTIONS => unary(request, |_: Empty| ready(Ok(api::OURS))).await,
                api::WATCH => follow(plugin.list, request).await,
                api::ALLOCATE => unary(request, |asked| plugin.allocate(asked)).await,
                api::BEFORE_START => unary(request, |asked| plugin.check(asked)).await,
                _ => Status::unimplemented("not announced by the options").into_http(),
            })
        })
    }
}
