// SPDX-License-Identifier: MIT

#[path = "controls.rs"]
mod controls;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{join, AsyncReadExt, AsyncWriteExt, Join};

pub use controls::VERSION;
pub const MOST_BYTES: u64 = u64::MAX;
const PROTOCOL: &[u8] = b"testbed";
const LINGER: Duration = Duration::from_secs(5);
/// The longest silence of a path is a suspension of 10 s.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
const MAX_IDLE_MS: u32 = 60_000;

type Stream = Join<RecvStream, SendStream>;
type Ends = ((Endpoint, Connection), Stream);

static CONTROL: OnceLock<String> = OnceLock::new();

/// Takes a parameter; false if it is none of the library's, or has no such value.
pub fn set(name: &str, value: &serde_json::Value) -> bool {
    let known = value.as_str().filter(|text| name == "control" && controls::named(text).is_some());
    known.is_some_and(|text| CONTROL.set(text.to_string()).is_ok())
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.keep_alive_interval(Some(KEEP_ALIVE)).max_idle_timeout(Some(VarInt::from_u32(MAX_IDLE_MS).into()));
    // the guest's links take packets one by one
    transport.enable_segmentation_offload(false);
    if let Some(control) = CONTROL.get().and_then(|name| controls::named(name)) {
        transport.congestion_controller_factory(control);
    }
    Arc::new(transport)
}

pub async fn connect(from: SocketAddr, to: SocketAddr) -> Result<Ends, Box<dyn Error>> {
    let verifier = Arc::new(AnyCertificate(Arc::new(ring::default_provider())));
    let builder = rustls::ClientConfig::builder_with_provider(verifier.0.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let mut secrets = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    secrets.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(secrets)?));
    config.transport_config(transport());
    let endpoint = Endpoint::client(SocketAddr::new(from.ip(), 0))?;
    let connection = endpoint.connect_with(config, to, "testbed")?.await?;
    let (writer, reader) = connection.open_bi().await?;
    Ok(((endpoint, connection), join(reader, writer)))
}

pub async fn accept(at: SocketAddr) -> Result<Ends, Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(["testbed".to_string()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut secrets = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    secrets.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(secrets)?));
    config.transport_config(transport());
    let endpoint = Endpoint::server(config, at)?;
    let incoming = endpoint.accept().await.ok_or("the endpoint is closed")?;
    let connection = incoming.await?;
    let (writer, reader) = connection.accept_bi().await?;
    Ok(((endpoint, connection), join(reader, writer)))
}

pub async fn wait_for_the_last(mut stream: Stream) -> Result<(), Box<dyn Error>> {
    // the receiver answers when it has everything
    stream.read_exact(&mut [0]).await?;
    Ok(stream.shutdown().await?)
}

pub async fn answer_the_last(mut stream: Stream) -> Result<(), Box<dyn Error>> {
    stream.write_all(&[0]).await?;
    stream.shutdown().await?;
    // returns when the sender has heard of it
    let (_, writer) = stream.into_inner();
    let _ = tokio::time::timeout(LINGER, writer.stopped()).await;
    Ok(())
}

/// Both sides make what they need for the run, so there is nothing that the receiver's certificate could prove.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
