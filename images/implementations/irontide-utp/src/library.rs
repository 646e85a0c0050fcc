// SPDX-License-Identifier: MIT

use irontide_utp::{UtpConfig, UtpSocket, UtpStream};
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub const VERSION: &str = "irontide-utp 1.7.0";
/// The crate keeps whatever is written, however much, so a flow without an end has to have one.
pub const MOST_BYTES: u64 = 64 << 20;
const LINGER: Duration = Duration::from_millis(500);

type Ends = (UtpSocket, UtpStream);

fn config(bind_addr: SocketAddr) -> UtpConfig {
    UtpConfig { bind_addr, ..UtpConfig::default() }
}

/// Takes a parameter; the library has none.
pub fn set(_name: &str, _value: &serde_json::Value) -> bool {
    false
}

pub async fn connect(from: SocketAddr, to: SocketAddr) -> Result<Ends, Box<dyn Error>> {
    let (socket, _) = UtpSocket::bind(config(from)).await?;
    let stream = socket.connect(to).await?;
    Ok((socket, stream))
}

pub async fn accept(at: SocketAddr) -> Result<Ends, Box<dyn Error>> {
    let (socket, mut listener) = UtpSocket::bind(config(at)).await?;
    let (stream, _) = listener.accept().await?;
    Ok((socket, stream))
}

pub async fn wait_for_the_last(mut stream: UtpStream) -> Result<(), Box<dyn Error>> {
    // the crate cannot tell what has been acknowledged: the receiver answers with a byte
    stream.read(&mut [0]).await?;
    Ok(stream.shutdown().await?)
}

pub async fn answer_the_last(mut stream: UtpStream) -> Result<(), Box<dyn Error>> {
    stream.write_all(&[0]).await?;
    tokio::time::sleep(LINGER).await;
    Ok(())
}
