// SPDX-License-Identifier: Apache-2.0
//! Cap'n Proto by capnp-rpc: one method whose parameter and result are one piece of data.
//!
//! There is no schema compiler: a parameter and a result are of type AnyPointer and point to data.
//! The bootstrap object is the server.
use crate::c::{ready, Ends};
use crate::pair::Pair;
use crate::{check_size, connect, listen, runtime, OrFail, PATTERN};
use capnp::any_pointer;
use capnp::capability::{DispatchCallResult, FromClientHook, FromServer, Promise, Rc, Server};
use capnp::private::capability::ClientHook;
use capnp_rpc::rpc_twoparty_capnp::Side;
use capnp_rpc::twoparty::VatNetwork;
use capnp_rpc::RpcSystem;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

const INTERFACE: u64 = 0xf3a1_5b6c_27d0_94e8;
const METHOD: u16 = 0;

struct Echo {
    request_bytes: usize,
    reply: Vec<u8>,
}

/// The code that a schema compiler would generate: makes a server of an Echo.
#[derive(Clone)]
struct Dispatch(Rc<Echo>);

impl std::ops::Deref for Dispatch {
    type Target = Echo;

    fn deref(&self) -> &Echo {
        &self.0
    }
}

impl Server for Dispatch {
    fn dispatch_call(
        self,
        _interface_id: u64,
        _method_id: u16,
        params: capnp::capability::Params<any_pointer::Owned>,
        mut results: capnp::capability::Results<any_pointer::Owned>,
    ) -> DispatchCallResult {
        let mut answer = || {
            let request: capnp::data::Reader = params.get()?.get_as()?;
            check_size(request, self.request_bytes);
            results.get().set_as::<capnp::data::Owned>(&self.reply[..])
        };
        DispatchCallResult::new(answer().into(), false)
    }

    fn as_ptr(&self) -> usize {
        Rc::as_ptr(&self.0) as usize
    }
}

struct EchoClient(capnp::capability::Client);

impl FromClientHook for EchoClient {
    fn new(hook: Box<dyn ClientHook>) -> Self {
        EchoClient(capnp::capability::Client::new(hook))
    }

    fn into_client_hook(self) -> Box<dyn ClientHook> {
        self.0.hook
    }

    fn as_client_hook(&self) -> &dyn ClientHook {
        self.0.hook.as_ref()
    }
}

impl FromServer<Echo> for EchoClient {
    type Dispatch = Dispatch;

    fn from_server(echo: Rc<Echo>) -> Dispatch {
        Dispatch(echo)
    }
}

fn network(stream: UnixStream, side: Side) -> Box<VatNetwork<impl futures_io::AsyncRead>> {
    let (reader, writer) = stream.into_split();
    Box::new(VatNetwork::new(
        reader.compat(),
        writer.compat_write(),
        side,
        Default::default(),
    ))
}

pub struct Client {
    runtime: Runtime,
    tasks: LocalSet,
    server: EchoClient,
    request: Vec<u8>,
    reply_bytes: usize,
}

impl Ends for Client {
    const NEEDS_ADDRESS: bool = false;

    fn serve(pair: &Pair) {
        let echo = Echo {
            request_bytes: pair.request_bytes,
            reply: vec![PATTERN; pair.reply_bytes],
        };
        LocalSet::new().block_on(&runtime(), async {
            let listener = listen(pair);
            ready();
            let server: EchoClient = capnp_rpc::new_client(echo);
            // One connection at a time; a client that disconnects is not an error.
            loop {
                let (stream, _) = listener.accept().await.or_fail("accepting");
                let bootstrap = Some(server.0.clone());
                let system = RpcSystem::new(network(stream, Side::Server), bootstrap);
                system.await.or_fail("serving Cap'n Proto");
            }
        });
    }

    fn connect(pair: &Pair) -> Self {
        let runtime = runtime();
        let tasks = LocalSet::new();
        let server = tasks.block_on(&runtime, async {
            let mut system = RpcSystem::new(network(connect(pair), Side::Client), None);
            let server = system.bootstrap(Side::Server);
            tokio::task::spawn_local(system);
            server
        });
        Client {
            runtime,
            tasks,
            server,
            request: vec![PATTERN; pair.request_bytes],
            reply_bytes: pair.reply_bytes,
        }
    }

    fn call(&mut self) {
        let (server, request_bytes) = (&self.server, &self.request);
        let reply_bytes = self.reply_bytes;
        let called: Promise<(), capnp::Error> = {
            let mut request = server
                .0
                .new_call::<any_pointer::Owned, any_pointer::Owned>(INTERFACE, METHOD, None);
            request
                .get()
                .set_as::<capnp::data::Owned>(&request_bytes[..])
                .or_fail("filling a call");
            Promise::from_future(async move {
                let response = request.send().promise.await?;
                let reply: capnp::data::Reader = response.get()?.get_as()?;
                check_size(reply, reply_bytes);
                Ok(())
            })
        };
        let outcome = self.tasks.block_on(&self.runtime, called);
        outcome.or_fail("calling by Cap'n Proto");
    }
}
