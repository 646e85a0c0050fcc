// SPDX-License-Identifier: MIT

use librqbit_utp::{UtpSocketUdp, UtpStream};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

pub const VERSION: &str = "librqbit-utp 0.7.0";
pub const MOST_BYTES: u64 = u64::MAX;
const LINGER: Duration = Duration::from_millis(500);

type Ends = (Arc<UtpSocketUdp>, UtpStream);

/// Takes a parameter; the library has none.
pub fn set(_name: &str, _value: &serde_json::Value) -> bool {
    false
}

pub async fn connect(from: SocketAddr, to: SocketAddr) -> Result<Ends, Box<dyn Error>> {
    let socket = UtpSocketUdp::new_udp(from).await?;
    let stream = socket.connect(to).await?;
    Ok((socket, stream))
}

pub async fn accept(at: SocketAddr) -> Result<Ends, Box<dyn Error>> {
    let socket = UtpSocketUdp::new_udp(at).await?;
    let stream = socket.accept().await?;
    Ok((socket, stream))
}

pub async fn wait_for_the_last(mut stream: UtpStream) -> Result<(), Box<dyn Error>> {
    // returns when everything is acknowledged
    Ok(stream.shutdown().await?)
}

pub async fn answer_the_last(_stream: UtpStream) -> Result<(), Box<dyn Error>> {
    // time to acknowledge the last bytes and the end of the stream
    tokio::time::sleep(LINGER).await;
    Ok(())
}
