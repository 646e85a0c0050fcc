// SPDX-License-Identifier: MIT
//! quiche has neither sockets nor timers: a task carries its packets and waits for it.

use quiche::{CongestionControlAlgorithm, Config, Connection, ConnectionId, Header, RecvInfo};
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{interval, sleep_until, timeout, Instant, MissedTickBehavior};

pub const VERSION: &str = "quiche 0.30.0";
pub const MOST_BYTES: u64 = u64::MAX;
const PROTOCOL: &[u8] = b"testbed";
/// What quiche's own programs use.
const DATAGRAM: usize = 1350;
const CHUNK: usize = 1 << 16;
const STREAM: u64 = 0;
const WINDOW: u64 = 1 << 24;
const LINGER: Duration = Duration::from_secs(5);
/// The longest silence of a path is a suspension of 10 s.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
const MAX_IDLE_MS: u64 = 60_000;
const FAR: Duration = Duration::from_secs(3600);

static CONTROL: OnceLock<CongestionControlAlgorithm> = OnceLock::new();
static OVER: Notify = Notify::const_new();
static CARRIER: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

/// Takes a parameter; false if it is none of the library's, or has no such value.
pub fn set(name: &str, value: &serde_json::Value) -> bool {
    let known = value.as_str().filter(|_| name == "control").and_then(|text| match text {
        "cubic" => Some(CongestionControlAlgorithm::CUBIC),
        "reno" => Some(CongestionControlAlgorithm::Reno),
        "bbr2" => Some(CongestionControlAlgorithm::Bbr2Gcongestion),
        _ => None,
    });
    known.is_some_and(|control| CONTROL.set(control).is_ok())
}

fn settings() -> Result<Config, Box<dyn Error>> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&[PROTOCOL])?;
    config.verify_peer(false);
    config.set_max_idle_timeout(MAX_IDLE_MS);
    config.set_max_recv_udp_payload_size(1 << 16);
    config.set_max_send_udp_payload_size(DATAGRAM);
    config.set_initial_max_data(WINDOW);
    config.set_initial_max_stream_data_bidi_local(WINDOW);
    config.set_initial_max_stream_data_bidi_remote(WINDOW);
    config.set_initial_max_streams_bidi(1);
    config.set_cc_algorithm(*CONTROL.get().unwrap_or(&CongestionControlAlgorithm::CUBIC));
    Ok(config)
}

fn drawn_id() -> Result<ConnectionId<'static>, Box<dyn Error>> {
    let mut id = vec![0; quiche::MAX_CONN_ID_LEN];
    File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(ConnectionId::from_vec(id))
}

pub async fn connect(from: SocketAddr, to: SocketAddr) -> Result<((), DuplexStream), Box<dyn Error>> {
    let socket = UdpSocket::bind(SocketAddr::new(from.ip(), 0)).await?;
    let own = socket.local_addr()?;
    let connection = quiche::connect(Some("testbed"), &drawn_id()?, own, to, &mut settings()?)?;
    Ok(((), carried(socket, connection)))
}

pub async fn accept(at: SocketAddr) -> Result<((), DuplexStream), Box<dyn Error>> {
    let mut config = settings()?;
    let made = rcgen::generate_simple_self_signed(["testbed".to_string()])?;
    let files = [("certificate.pem", made.cert.pem()), ("key.pem", made.signing_key.serialize_pem())];
    let folder = std::env::var("LOGDIR")?;
    let [certificate, key] = files.map(|(name, text)| {
        let path = format!("{folder}/{name}");
        std::fs::write(&path, text).map(|()| path)
    });
    config.load_cert_chain_from_pem_file(&certificate?)?;
    config.load_priv_key_from_pem_file(&key?)?;
    let socket = UdpSocket::bind(at).await?;
    let own = socket.local_addr()?;
    let mut packet = vec![0; CHUNK];
    loop {
        let (length, from) = socket.recv_from(&mut packet).await?;
        let head = Header::from_slice(&mut packet[..length], quiche::MAX_CONN_ID_LEN);
        if head.is_ok_and(|head| head.ty == quiche::Type::Initial && quiche::version_is_supported(head.version)) {
            let mut connection = quiche::accept(&drawn_id()?, None, own, from, &mut config)?;
            connection.recv(&mut packet[..length], RecvInfo { from, to: own })?;
            return Ok(((), carried(socket, connection)));
        }
    }
}

/// Starts a task that carries a connection's one stream, and returns this program's end of the stream.
fn carried(socket: UdpSocket, connection: Connection) -> DuplexStream {
    let (ours, far) = tokio::io::duplex(CHUNK);
    let task = tokio::spawn(async move {
        if let Err(error) = carry(socket, connection, far).await {
            eprintln!("{error}");
        }
    });
    *CARRIER.lock().unwrap() = Some(task);
    ours
}

async fn carry(socket: UdpSocket, mut connection: Connection, program: DuplexStream) -> Result<(), Box<dyn Error + Send + Sync>> {
    let own = socket.local_addr()?;
    let (mut from_program, mut to_program) = tokio::io::split(program);
    let (mut packet, mut read, mut arrived) = (vec![0; CHUNK], vec![0; CHUNK], vec![0; CHUNK]);
    let (mut waiting, mut begin) = (Vec::new(), 0);
    let (mut is_last, mut has_ended) = (false, false);
    let mut paced: Option<(Vec<u8>, SocketAddr, Instant)> = None;
    let mut keep_alive = interval(KEEP_ALIVE);
    keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    keep_alive.tick().await;
    loop {
        if connection.is_established() && !has_ended && (begin < waiting.len() || is_last) {
            match connection.stream_send(STREAM, &waiting[begin..], is_last) {
                Ok(taken) => {
                    begin += taken;
                    has_ended = is_last && begin == waiting.len();
                }
                Err(quiche::Error::Done) => {}
                Err(error) => return Err(error.into()),
            }
        }
        while connection.stream_readable(STREAM) {
            match connection.stream_recv(STREAM, &mut arrived) {
                Ok((length, is_end)) => {
                    to_program.write_all(&arrived[..length]).await?;
                    if is_end {
                        to_program.shutdown().await?;
                    }
                }
                Err(quiche::Error::Done) => break,
                Err(error) => return Err(error.into()),
            }
        }
        loop {
            if paced.as_ref().is_some_and(|(_, _, at)| *at > Instant::now()) {
                break;
            }
            if let Some((bytes, to, _)) = paced.take() {
                socket.send_to(&bytes, to).await?;
            }
            match connection.send(&mut packet) {
                Ok((length, info)) => paced = Some((packet[..length].to_vec(), info.to, Instant::from_std(info.at))),
                Err(quiche::Error::Done) => break,
                Err(error) => return Err(error.into()),
            }
        }
        if connection.is_closed() {
            return connection.peer_error().filter(|error| error.error_code != 0).map_or(Ok(()), |error| {
                Err(format!("the peer closed the connection: {}", String::from_utf8_lossy(&error.reason)).into())
            });
        }
        let now = Instant::now();
        let expires = now + connection.timeout().unwrap_or(FAR);
        let next = paced.as_ref().map_or(expires, |(_, _, at)| expires.min(*at));
        let has_room = begin == waiting.len() && !is_last && connection.is_established();
        tokio::select! {
            came = socket.recv_from(&mut packet) => {
                let (length, from) = came?;
                match connection.recv(&mut packet[..length], RecvInfo { from, to: own }) {
                    Ok(_) | Err(quiche::Error::Done) => {}
                    Err(error) => eprintln!("packet: {error}"),
                }
            }
            length = from_program.read(&mut read), if has_room => {
                let length = length?;
                waiting.clear();
                waiting.extend_from_slice(&read[..length]);
                begin = 0;
                is_last = length == 0;
            }
            _ = keep_alive.tick(), if connection.is_established() => { connection.send_ack_eliciting()?; }
            _ = OVER.notified() => match connection.close(true, 0, b"") {
                Ok(()) | Err(quiche::Error::Done) => {}
                Err(error) => return Err(error.into()),
            },
            _ = sleep_until(next) => if Instant::now() >= expires {
                connection.on_timeout();
            },
        }
    }
}

async fn end_of_carrier() {
    let task = CARRIER.lock().unwrap().take();
    if let Some(task) = task {
        let _ = timeout(LINGER, task).await;
    }
}

pub async fn wait_for_the_last(mut stream: DuplexStream) -> Result<(), Box<dyn Error>> {
    stream.shutdown().await?;
    // the receiver answers when it has everything
    stream.read_exact(&mut [0]).await?;
    OVER.notify_one();
    end_of_carrier().await;
    Ok(())
}

pub async fn answer_the_last(mut stream: DuplexStream) -> Result<(), Box<dyn Error>> {
    stream.write_all(&[0]).await?;
    // until the sender has heard of it
    end_of_carrier().await;
    Ok(())
}
