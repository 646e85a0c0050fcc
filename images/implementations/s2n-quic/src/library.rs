// SPDX-License-Identifier: MIT

use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::io::tokio::{Builder, Provider};
use s2n_quic::provider::limits::Limits;
use s2n_quic::stream::BidirectionalStream;
use s2n_quic::{Client, Connection, Server};
#[allow(deprecated)] // its own builders cannot take any certificate
use s2n_quic_rustls::rustls;
use s2n_quic_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use s2n_quic_rustls::rustls::crypto::{aws_lc_rs, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use s2n_quic_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use s2n_quic_rustls::rustls::{DigitallySignedStruct, SignatureScheme};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

pub const VERSION: &str = "s2n-quic 1.91.0";
pub const MOST_BYTES: u64 = u64::MAX;
const PROTOCOL: &[u8] = b"testbed";
const LINGER: Duration = Duration::from_secs(5);
/// The longest silence of a path is a suspension of 10 s.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
const MAX_IDLE: Duration = Duration::from_secs(60);

static CONTROL: OnceLock<String> = OnceLock::new();

/// Takes a parameter; false if it is none of the library's, or has no such value.
pub fn set(name: &str, value: &serde_json::Value) -> bool {
    let known = value.as_str().filter(|text| name == "control" && ["cubic", "bbr"].contains(text));
    known.is_some_and(|text| CONTROL.set(text.to_string()).is_ok())
}

/// Starts an endpoint, whose type depends on its control.
macro_rules! started {
    ($builder:expr) => {
        match CONTROL.get().map(String::as_str) {
            Some("bbr") => $builder.with_congestion_controller(Bbr::default())?.start(),
            _ => $builder.with_congestion_controller(Cubic::default())?.start(),
        }?
    };
}

/// The guest's links take packets one by one.
fn socket(at: SocketAddr) -> std::io::Result<Provider> {
    Builder::default().with_receive_address(at)?.with_gso_disabled()?.with_gro_disabled()?.build()
}

fn limits() -> Result<Limits, Box<dyn Error>> {
    Ok(Limits::new().with_max_idle_timeout(MAX_IDLE)?.with_max_keep_alive_period(KEEP_ALIVE)?)
}

pub async fn connect(
    from: SocketAddr,
    to: SocketAddr,
) -> Result<((Client, Connection), BidirectionalStream), Box<dyn Error>> {
    let verifier = Arc::new(AnyCertificate(Arc::new(aws_lc_rs::default_provider())));
    let builder = rustls::ClientConfig::builder_with_provider(verifier.0.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let mut secrets = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    secrets.alpn_protocols = vec![PROTOCOL.to_vec()];
    let builder = Client::builder()
        .with_tls(s2n_quic_rustls::Client::from(secrets))?
        .with_io(socket(SocketAddr::new(from.ip(), 0))?)?
        .with_limits(limits()?)?;
    let client = started!(builder);
    let mut connection = client.connect(Connect::new(to).with_server_name("testbed")).await?;
    connection.keep_alive(true)?;
    let stream = connection.open_bidirectional_stream().await?;
    Ok(((client, connection), stream))
}

pub async fn accept(at: SocketAddr) -> Result<((Server, Connection), BidirectionalStream), Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(["testbed".to_string()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut secrets = rustls::ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    secrets.alpn_protocols = vec![PROTOCOL.to_vec()];
    let builder = Server::builder()
        .with_tls(s2n_quic_rustls::Server::from(secrets))?
        .with_io(socket(at)?)?
        .with_limits(limits()?)?;
    let mut server = started!(builder);
    let mut connection = server.accept().await.ok_or("the endpoint is closed")?;
    let stream = connection.accept_bidirectional_stream().await?.ok_or("the connection is closed")?;
    Ok(((server, connection), stream))
}

pub async fn wait_for_the_last(mut stream: BidirectionalStream) -> Result<(), Box<dyn Error>> {
    // the receiver answers when it has everything
    stream.read_exact(&mut [0]).await?;
    // returns when the receiver has heard of it
    let _ = timeout(LINGER, stream.close()).await;
    Ok(())
}

pub async fn answer_the_last(mut stream: BidirectionalStream) -> Result<(), Box<dyn Error>> {
    stream.write_all(&[0]).await?;
    let _ = timeout(LINGER, stream.close()).await;
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
