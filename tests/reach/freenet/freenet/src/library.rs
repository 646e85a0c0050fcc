// SPDX-License-Identifier: MIT
//! Freenet's transport carries messages; a flow's bytes travel in numbered ones, each confirmed by a message with its number.

use freenet_transport::{PeerConnection, TransportError};
use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;

pub const VERSION: &str = concat!("freenet ", env!("VERSION"));
pub const MOST_BYTES: u64 = u64::MAX;
const UNDER_WAY: u64 = 2;
const SHORT: usize = 1 << 18;
const LINGER: Duration = Duration::from_secs(5);

type Numbered = (u64, Vec<u8>);
type Ends = (JoinHandle<()>, DuplexStream);

static MESSAGE: OnceLock<usize> = OnceLock::new();

/// Takes a parameter; false if it is none of the library's.
pub fn set(name: &str, value: &serde_json::Value) -> bool {
    name == "message_bytes" && value.as_u64().is_some_and(|bytes| MESSAGE.set(bytes as usize).is_ok())
}

pub async fn connect(from: SocketAddr, to: SocketAddr) -> Result<Ends, Box<dyn Error>> {
    let peer = freenet_transport::connect(SocketAddr::new(from.ip(), 0), to).await?;
    let (near, far) = tokio::io::duplex(1 << 20);
    Ok((tokio::spawn(or_exit(send(peer, far))), near))
}

pub async fn accept(at: SocketAddr) -> Result<Ends, Box<dyn Error>> {
    let peer = freenet_transport::accept(at).await?;
    let (near, far) = tokio::io::duplex(1 << 20);
    Ok((tokio::spawn(or_exit(receive(peer, far))), near))
}

pub async fn wait_for_the_last(mut stream: DuplexStream) -> Result<(), Box<dyn Error>> {
    stream.shutdown().await?;
    // ends when all messages are confirmed
    stream.read_to_end(&mut Vec::new()).await?;
    Ok(())
}

pub async fn answer_the_last(_stream: DuplexStream) -> Result<(), Box<dyn Error>> {
    tokio::time::sleep(LINGER).await;
    Ok(())
}

async fn or_exit(task: impl std::future::Future<Output = Result<(), TransportError>>) {
    if let Err(error) = task.await {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

async fn send(mut peer: PeerConnection, mut bytes: DuplexStream) -> Result<(), TransportError> {
    // a flow without an end is cut off: what had arrived of its last message counts for nothing
    let longest = *MESSAGE.get().filter(|_| std::env::var("BYTES").is_ok()).unwrap_or(&SHORT);
    let (mut next, mut confirmed, mut ended) = (0, 0, false);
    while !ended || confirmed < next {
        while !ended && next < confirmed + UNDER_WAY {
            let mut payload = Vec::new();
            (&mut bytes).take(longest as u64).read_to_end(&mut payload).await?;
            ended = payload.len() < longest;
            if !payload.is_empty() {
                peer.send((next, payload)).await?;
                next += 1;
            }
        }
        if confirmed < next {
            peer.recv().await?;
            confirmed += 1;
        }
    }
    Ok(())
}

async fn receive(mut peer: PeerConnection, mut bytes: DuplexStream) -> Result<(), TransportError> {
    let (mut waiting, mut next) = (BTreeMap::new(), 0);
    loop {
        let (number, payload): Numbered = bincode::deserialize(&peer.recv().await?)?;
        peer.send(number).await?;
        waiting.insert(number, payload);
        while let Some(payload) = waiting.remove(&next) {
            bytes.write_all(&payload).await?;
            next += 1;
        }
    }
}
