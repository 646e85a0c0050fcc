// SPDX-License-Identifier: MIT
//! Freenet's transport without the rest of Freenet: `build` brings the files of `transport`, `simulation` and `util`.

#![allow(warnings)]

#[macro_use]
mod util {
    pub mod backoff;
    pub mod deterministic_select;
    pub mod time_source;
}
mod simulation;
mod transport;

use std::net::SocketAddr;
pub use transport::{PeerConnection, TransportError};

mod config {
    use parking_lot::Mutex;
    use rand::distr::uniform::{SampleRange, SampleUniform};
    use rand::{rngs::SmallRng, Rng, RngCore, SeedableRng};
    use std::future::Future;
    use std::sync::LazyLock;

    pub(crate) const PCK_VERSION: &str = env!("VERSION");

    pub struct GlobalExecutor;

    impl GlobalExecutor {
        pub fn spawn<R: Send + 'static>(task: impl Future<Output = R> + Send + 'static) -> tokio::task::JoinHandle<R> {
            tokio::spawn(task)
        }
    }

    /// Each side draws from its own numbers, which follow from the run's seed.
    static NUMBERS: LazyLock<Mutex<SmallRng>> = LazyLock::new(|| {
        let told = |name: &str| std::env::var(name).unwrap_or_default();
        let seed: u64 = told("SEED").parse().unwrap_or_default();
        Mutex::new(SmallRng::seed_from_u64(2 * seed + u64::from(told("ROLE") == "sender")))
    });

    pub struct GlobalRng;

    impl GlobalRng {
        pub fn fill_bytes(into: &mut [u8]) {
            NUMBERS.lock().fill_bytes(into)
        }
        pub fn random_bool(chance: f64) -> bool {
            NUMBERS.lock().random_bool(chance)
        }
        pub fn random_u64() -> u64 {
            NUMBERS.lock().random()
        }
        pub fn random_range<T: SampleUniform, R: SampleRange<T>>(range: R) -> T {
            NUMBERS.lock().random_range(range)
        }
    }
}

mod message {
    #[derive(Debug, serde::Serialize)]
    pub struct NetMessage;
}

mod tracing {
    use std::net::SocketAddr;

    pub mod telemetry {
        pub fn current_timestamp_ms() -> u64 {
            0
        }
    }

    #[derive(Debug, Clone, Copy)]
    pub enum TransferDirection {
        Send,
        Receive,
    }

    #[derive(Debug, Clone)]
    pub enum TransferEvent {
        Started {
            stream_id: u64,
            peer_addr: SocketAddr,
            expected_bytes: u64,
            direction: TransferDirection,
            tx_id: Option<()>,
            timestamp: u64,
        },
        Completed {
            stream_id: u64,
            peer_addr: SocketAddr,
            bytes_transferred: u64,
            elapsed_ms: u64,
            avg_throughput_bps: u64,
            peak_cwnd_bytes: Option<u32>,
            final_cwnd_bytes: Option<u32>,
            slowdowns_triggered: Option<u32>,
            final_srtt_ms: Option<u32>,
            final_ssthresh_bytes: Option<u32>,
            min_ssthresh_floor_bytes: Option<u32>,
            total_timeouts: Option<u32>,
            direction: TransferDirection,
            timestamp: u64,
        },
        Failed {
            stream_id: u64,
            peer_addr: SocketAddr,
            bytes_transferred: u64,
            reason: String,
            elapsed_ms: u64,
            direction: TransferDirection,
            timestamp: u64,
        },
    }
}

/// The receiver's key, which both sides make: a sender is told nothing but an address.
fn key_of_receivers() -> transport::TransportKeypair {
    let file = std::env::temp_dir().join("key");
    std::fs::write(&file, "07".repeat(32)).expect("a key can be written");
    transport::TransportKeypair::load(&file).expect("a key can be read")
}

type Handlers = (transport::OutboundConnectionHandler, transport::InboundConnectionHandler);

/// As a node of that version sets its transport up without a configuration. Its listener ends with the handlers.
async fn handlers(at: SocketAddr, is_gateway: bool) -> Result<&'static mut Handlers, TransportError> {
    let key = if is_gateway { key_of_receivers() } else { transport::TransportKeypair::new() };
    // 100 KiB is the default of a node's `ledbat_min_ssthresh`
    #[cfg(not(takes_a_control))]
    let made = transport::create_connection_handler(key, at.ip(), at.port(), is_gateway, None, None, Some(100 << 10));
    #[cfg(takes_a_control)]
    let made =
        transport::create_connection_handler(key, at.ip(), at.port(), is_gateway, None, None, Some(100 << 10), None);
    Ok(Box::leak(Box::new(made.await?)))
}

pub async fn connect(from: SocketAddr, to: SocketAddr) -> Result<PeerConnection, TransportError> {
    let (outbound, _) = handlers(from, false).await?;
    outbound.connect(key_of_receivers().public().clone(), to).await.await
}

pub async fn accept(at: SocketAddr) -> Result<PeerConnection, TransportError> {
    let (_, inbound) = handlers(at, true).await?;
    inbound.next_connection().await.ok_or(TransportError::ChannelClosed)
}
