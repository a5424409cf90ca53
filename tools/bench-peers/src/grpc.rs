// SPDX-License-Identifier: Apache-2.0
//! gRPC by tonic: one unary method whose message is one field of bytes.
//!
//! The code that tonic-build would generate from a .proto file is written out here: it is short,
//! and the build does not need the protobuf compiler.
use crate::c::{self, Ends};
use crate::pair::Pair;
use crate::{check_size, connect, listen, runtime, OrFail, PATTERN};
use prost::bytes::Bytes;
use std::convert::Infallible;
use std::future::{ready, Ready as Immediate};
use std::sync::Mutex;
use std::task::{Context, Poll};
use tokio::runtime::Runtime;
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{http, BoxFuture, Service};
use tonic::server::{NamedService, UnaryService};
use tonic::transport::{Channel, Endpoint, Server, Uri};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

const PATH: &str = "/anybinder.bench.Echo/Call";

#[derive(Clone, PartialEq, prost::Message)]
pub struct Payload {
    #[prost(bytes = "bytes", tag = "1")]
    data: Bytes,
}

impl Payload {
    fn of(bytes: usize) -> Self {
        Payload {
            data: vec![PATTERN; bytes].into(),
        }
    }
}

#[derive(Clone)]
pub struct Echo {
    request_bytes: usize,
    reply: Payload,
}

impl Echo {
    pub fn new(pair: &Pair) -> Self {
        Echo {
            request_bytes: pair.request_bytes,
            reply: Payload::of(pair.reply_bytes),
        }
    }
}

impl UnaryService<Payload> for Echo {
    type Response = Payload;
    type Future = Immediate<Result<Response<Payload>, Status>>;

    fn call(&mut self, request: Request<Payload>) -> Self::Future {
        check_size(&request.get_ref().data, self.request_bytes);
        ready(Ok(Response::new(self.reply.clone())))
    }
}

impl NamedService for Echo {
    const NAME: &'static str = "anybinder.bench.Echo";
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let echo = self.clone();
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::default());
            Ok(grpc.unary(echo, request).await)
        })
    }
}

pub struct Client {
    runtime: Runtime,
    grpc: tonic::client::Grpc<Channel>,
    request: Payload,
    reply_bytes: usize,
}

impl Client {
    /// * `runtime`: runs the channel's tasks
    pub fn of(runtime: Runtime, channel: Channel, pair: &Pair) -> Self {
        Client {
            runtime,
            grpc: tonic::client::Grpc::new(channel),
            request: Payload::of(pair.request_bytes),
            reply_bytes: pair.reply_bytes,
        }
    }
}

impl Ends for Client {
    const NEEDS_ADDRESS: bool = false;

    fn serve(pair: &Pair) {
        let echo = Echo::new(pair);
        runtime().block_on(async {
            let incoming = tokio_stream::wrappers::UnixListenerStream::new(listen(pair));
            c::ready();
            Server::builder()
                .add_service(echo)
                .serve_with_incoming(incoming)
                .await
                .or_fail("serving gRPC");
        });
    }

    fn connect(pair: &Pair) -> Self {
        let runtime = runtime();
        let channel = runtime.block_on(async {
            // The URI is ignored: there is one connection, made here.
            let stream = Mutex::new(Some(connect(pair)));
            let connector = tower::service_fn(move |_: Uri| {
                let stream = stream.lock().ok().and_then(|mut stream| stream.take());
                ready(match stream {
                    Some(stream) => Ok(hyper_util::rt::TokioIo::new(stream)),
                    None => Err(std::io::Error::other("the connection was lost")),
                })
            });
            Endpoint::from_static("http://localhost")
                .connect_with_connector(connector)
                .await
                .or_fail("connecting gRPC")
        });
        Client::of(runtime, channel, pair)
    }

    fn call(&mut self) {
        let Client { grpc, request, .. } = self;
        let reply = self.runtime.block_on(async {
            grpc.ready().await.or_fail("gRPC");
            let request = Request::new(request.clone());
            let path = PathAndQuery::from_static(PATH);
            let codec = ProstCodec::<Payload, Payload>::default();
            grpc.unary(request, path, codec)
                .await
                .or_fail("calling by gRPC")
        });
        check_size(&reply.get_ref().data, self.reply_bytes);
    }
}
