// SPDX-License-Identifier: Apache-2.0
//! gRPC over TLS: both ends have a certificate that an authority signed. rustls and its ciphers are
//! those of the Binder peers.
use crate::c::{ready, Ends};
use crate::grpc::{self, Echo};
use crate::pair::{Pair, SERVER_NAME};
use crate::{runtime, OrFail};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Server, ServerTlsConfig};

fn identity(pair: &Pair, end: &str) -> Identity {
    let [certificate, key] = [".pem", ".key"].map(|kind| pair.pem(&format!("{end}{kind}")));
    Identity::from_pem(certificate, key)
}

pub struct Client(grpc::Client);

impl Ends for Client {
    const NEEDS_ADDRESS: bool = true;

    fn serve(pair: &Pair) {
        let tls = ServerTlsConfig::new()
            .identity(identity(pair, "server"))
            .client_ca_root(Certificate::from_pem(pair.pem("ca.pem")));
        runtime().block_on(async {
            let incoming = TcpIncoming::bind(pair.address).or_fail("listening");
            ready();
            Server::builder()
                .tls_config(tls)
                .or_fail("the keys")
                .add_service(Echo::new(pair))
                .serve_with_incoming(incoming.with_nodelay(Some(true)))
                .await
                .or_fail("serving gRPC");
        });
    }

    fn connect(pair: &Pair) -> Self {
        let tls = ClientTlsConfig::new()
            .identity(identity(pair, "client"))
            .ca_certificate(Certificate::from_pem(pair.pem("ca.pem")))
            .domain_name(SERVER_NAME);
        let runtime = runtime();
        let channel = runtime.block_on(async {
            Endpoint::from_shared(format!("https://{}", pair.address))
                .or_fail("the address")
                .tls_config(tls)
                .or_fail("the keys")
                .tcp_nodelay(true)
                .connect()
                .await
                .or_fail("connecting gRPC")
        });
        Client(grpc::Client::of(runtime, channel, pair))
    }

    fn call(&mut self) {
        self.0.call();
    }
}
