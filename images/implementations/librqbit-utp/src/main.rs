// SPDX-License-Identifier: MIT
//! One side of a flow over a crate, which library.rs names, on a runtime of one thread: the contract's bytes as one stream.

mod library;

use std::env;
use std::io::Write;
use std::net::SocketAddr;
use std::process::exit;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::signal::unix::{signal, SignalKind};

const CHUNK: u64 = 1 << 16;

fn fail(sentence: &str, status: i32) -> ! {
    eprintln!("{sentence}");
    exit(status)
}

fn told(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("{name} is not set"), 1))
}

fn or_fail<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| fail(&error.to_string(), 1))
}

fn address(text: &str) -> SocketAddr {
    or_fail(format!("{text}:{}", told("PORT")).parse::<SocketAddr>())
}

/// The contract's byte at `offset`: 0, 1, 2, ... as 64-bit big-endian numbers.
fn expected(offset: u64) -> u8 {
    (offset / 8).to_be_bytes()[(offset % 8) as usize]
}

async fn send(total: u64) {
    let (_socket, mut stream) = or_fail(library::connect(address("0.0.0.0"), address(&told("PEER"))).await);
    let mut offset = 0;
    let total = total.min(library::MOST_BYTES);
    while offset < total {
        let end = total.min(offset + CHUNK);
        let chunk: Vec<u8> = (offset..end).map(expected).collect();
        or_fail(stream.write_all(&chunk).await);
        offset = end;
    }
    or_fail(library::wait_for_the_last(stream).await);
}

/// Reads `total` bytes; `received` counts them, for a caller that ends this early.
async fn receive(total: u64, received: &mut u64) {
    let (_socket, mut stream) = or_fail(library::accept(address("0.0.0.0")).await);
    let mut file = env::var("PAYLOAD").ok().map(|path| or_fail(std::fs::File::create(path)));
    let mut buffer = vec![0; CHUNK as usize];
    while *received < total {
        let read = or_fail(stream.read(&mut buffer).await);
        if read == 0 {
            return;
        }
        for byte in &buffer[..read] {
            if *byte != expected(*received) {
                fail(&format!("wrong byte at offset {received}"), 1);
            }
            *received += 1;
        }
        if let Some(file) = file.as_mut() {
            or_fail(file.write_all(&buffer[..read]));
        }
    }
    or_fail(library::answer_the_last(stream).await);
}

async fn run() -> i32 {
    let total = env::var("BYTES").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(u64::MAX);
    let mut end = or_fail(signal(SignalKind::terminate()));
    let mut received = 0;
    match told("ROLE").as_str() {
        "sender" => tokio::select! { _ = send(total) => {}, _ = end.recv() => {} },
        "receiver" => {
            tokio::select! { _ = receive(total, &mut received) => {}, _ = end.recv() => {} }
            or_fail(std::fs::write(format!("{}/received_bytes", told("LOGDIR")), format!("{received}\n")));
            return i32::from(total != u64::MAX && received < total);
        }
        role => fail(&format!("unknown role {role}"), 127),
    }
    0
}

fn main() {
    if env::args().nth(1).as_deref() == Some("--version") {
        println!("{}", library::VERSION);
        return;
    }
    let params: serde_json::Value = serde_json::from_str(&told("PARAMS")).unwrap_or_default();
    for (name, value) in params.as_object().into_iter().flatten() {
        if !library::set(name, value) {
            fail(&format!("unknown parameter {name}={value}"), 127);
        }
    }
    let runtime = or_fail(tokio::runtime::Builder::new_current_thread().enable_all().build());
    exit(runtime.block_on(run()))
}
