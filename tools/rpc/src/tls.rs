// SPDX-License-Identifier: Apache-2.0
//! Who is at the other end of a TLS connection: a certificate that is pinned, or that a certificate
//! authority has signed. rustls does all of TLS; the provider of its ciphers is ring.
use crate::access::{fingerprint, Fingerprint};
use crate::peer_log::log_peer;
use anybinder_cli::error::{Doing, Error, Kind, Result};
use rsbinder::rpc::rustls;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, RootCertStore,
    ServerConfig, SignatureScheme,
};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type TlsResult<T> = std::result::Result<T, rustls::Error>;
type Built<V> = std::result::Result<Arc<V>, VerifierBuilderError>;

/// This end's certificate, and which certificates of the other end are accepted.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// The certificates of the authorities that may have signed the peer's.
    pub authorities: Option<PathBuf>,
    /// Peers whose certificates are accepted regardless of who has signed them.
    pub pins: Vec<Fingerprint>,
}

/// Accepts what is pinned, and what a verifier of authorities accepts if there is one.
#[derive(Debug)]
struct Verifier<V: ?Sized> {
    pins: Vec<Fingerprint>,
    authorities: Option<Arc<V>>,
    provider: Arc<CryptoProvider>,
}

impl<V: ?Sized> Verifier<V> {
    /// Decides on a certificate; a refusal is said.
    ///
    /// * `pinned`: the answer for one that is pinned
    /// * `ask`: what the authorities say, if there are any
    fn decide<T>(
        &self,
        certificate: &CertificateDer<'_>,
        pinned: T,
        ask: impl FnOnce(&V) -> TlsResult<T>,
    ) -> TlsResult<T> {
        let own: Fingerprint = Sha256::digest(certificate.as_ref()).into();
        if self.pins.contains(&own) {
            return Ok(pinned);
        }
        let unknown = CertificateError::ApplicationVerificationFailure;
        let outcome = match self.authorities.as_deref() {
            Some(authorities) => ask(authorities),
            None => Err(rustls::Error::InvalidCertificate(unknown)),
        };
        if let Err(why) = &outcome {
            let digest = print_of(&own);
            log_peer(&format!("The certificate {digest} is refused: {why}."));
        }
        outcome
    }
}

/// A certificate's fingerprint, as `--pin` and `--allow` take it.
fn print_of(fingerprint: &Fingerprint) -> String {
    let pairs: Vec<String> = fingerprint
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect();
    pairs.join(":")
}

/// The methods that both traits have: signatures are checked as the provider does.
macro_rules! signatures_by_provider {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> TlsResult<HandshakeSignatureValid> {
            let algorithms = &self.provider.signature_verification_algorithms;
            verify_tls12_signature(message, certificate, signature, algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> TlsResult<HandshakeSignatureValid> {
            let algorithms = &self.provider.signature_verification_algorithms;
            verify_tls13_signature(message, certificate, signature, algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            let algorithms = &self.provider.signature_verification_algorithms;
            algorithms.supported_schemes()
        }
    };
}

impl ServerCertVerifier for Verifier<dyn ServerCertVerifier> {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> TlsResult<ServerCertVerified> {
        self.decide(
            certificate,
            ServerCertVerified::assertion(),
            |authorities| authorities.verify_server_cert(certificate, chain, name, ocsp, now),
        )
    }

    signatures_by_provider!();
}

impl ClientCertVerifier for Verifier<dyn ClientCertVerifier> {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // A client whose certificate is pinned would not find its authority in a list.
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> TlsResult<ClientCertVerified> {
        self.decide(
            certificate,
            ClientCertVerified::assertion(),
            |authorities| authorities.verify_client_cert(certificate, chain, now),
        )
    }

    signatures_by_provider!();
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let doing = || format!("reading certificates from {}", path.display());
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .doing(doing)?
        .collect::<std::result::Result<_, _>>()
        .doing(doing)?;
    match found.is_empty() {
        true => Err(Error::with_advice(
            format!("{} has no certificate.", path.display()),
            "Give a file in PEM format (BEGIN CERTIFICATE).",
        )),
        false => Ok(found),
    }
}

fn roots(path: &Path) -> Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots
            .add(certificate)
            .doing(|| format!("reading the authority in {}", path.display()))?;
    }
    Ok(Arc::new(roots))
}

/// An error of the command line.
fn usage(what: &str, advice: &str) -> Error {
    Error::with_advice(what, advice).of(Kind::Usage)
}

impl Credentials {
    /// The certificate chain and key of this end; None if it has none.
    #[allow(clippy::type_complexity)]
    fn own(&self) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>> {
        let (certificate, key) = match (&self.certificate, &self.key) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => (certificate, key),
            _ => {
                let what = "--cert and --key belong together.";
                return Err(usage(what, "Give both files, in PEM format."));
            }
        };
        let chain = certificates(certificate)?;
        let doing = || format!("reading the key in {}", key.display());
        Ok(Some((
            chain,
            PrivateKeyDer::from_pem_file(key).doing(doing)?,
        )))
    }

    fn trusts_any(&self) -> bool {
        self.authorities.is_some() || !self.pins.is_empty()
    }

    /// What accepts the certificates of the other end.
    ///
    /// * `of_roots`: makes the verifier of the authorities
    fn verifier<V: ?Sized>(
        &self,
        provider: &Arc<CryptoProvider>,
        of_roots: impl Fn(Arc<RootCertStore>) -> Built<V>,
    ) -> Result<Arc<Verifier<V>>> {
        let of_file = |path: &PathBuf| {
            let verifier = of_roots(roots(path)?);
            verifier.doing(|| format!("using {}", path.display()))
        };
        Ok(Arc::new(Verifier {
            pins: self.pins.clone(),
            authorities: self.authorities.as_ref().map(of_file).transpose()?,
            provider: provider.clone(),
        }))
    }

    /// What `link` connects with.
    pub fn client(&self) -> Result<Arc<ClientConfig>> {
        if !self.trusts_any() {
            return Err(usage(
                "Nothing says which server is the right one.",
                "Give the fingerprint of its certificate (--pin) or who signed it (--ca).",
            ));
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = self.verifier(&provider, |roots| {
            let builder = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
            Ok(builder.build()? as Arc<dyn ServerCertVerifier>)
        })?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .doing(|| "choosing the versions of TLS".to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match self.own()? {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .doing(|| "using --cert and --key".to_string())?,
        };
        Ok(Arc::new(config))
    }

    /// What `export` accepts connections with.
    ///
    /// * `anyone`: clients need no certificate
    pub fn server(&self, anyone: bool) -> Result<Arc<ServerConfig>> {
        let own = self.own()?.ok_or_else(|| {
            let advice = "Give --cert and --key; docs/RPC.md has the commands that make them.";
            usage(
                "A tls:// address needs a certificate of this machine.",
                advice,
            )
        })?;
        if !anyone && !self.trusts_any() {
            return Err(usage(
                "Nothing says whose certificates are accepted.",
                "Give rules with cert=FINGERPRINT (--allow) or who signed them (--ca).",
            ));
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = self.verifier(&provider, |roots| {
            WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build()
        })?;
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .doing(|| "choosing the versions of TLS".to_string())?;
        let builder = match anyone {
            true => builder.with_no_client_auth(),
            false => builder.with_client_cert_verifier(verifier),
        };
        let config = builder
            .with_single_cert(own.0, own.1)
            .doing(|| "using --cert and --key".to_string())?;
        Ok(Arc::new(config))
    }
}

/// For `--pin`.
pub fn parse_pin(text: &str) -> std::result::Result<Fingerprint, String> {
    fingerprint(text)
}
