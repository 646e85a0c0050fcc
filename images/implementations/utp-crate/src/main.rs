// SPDX-License-Identifier: MIT
//! One side of a flow over the crate utp: the contract's bytes as one stream.

use std::env;
use std::io::{Read, Write};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use utp::{UtpListener, UtpStream};

const CHUNK: usize = 1 << 14;

static RECEIVED: AtomicU64 = AtomicU64::new(0);

fn fail(sentence: &str, status: i32) -> ! {
    eprintln!("{sentence}");
    exit(status)
}

fn told(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("{name} is not set"), 1))
}

/// The contract's byte at `offset`: 0, 1, 2, ... as 64-bit big-endian numbers.
fn expected(offset: u64) -> u8 {
    (offset / 8).to_be_bytes()[(offset % 8) as usize]
}

fn send(total: u64) -> ! {
    let to = format!("{}:{}", told("PEER"), told("PORT"));
    let mut stream = UtpStream::connect(to.as_str()).unwrap_or_else(|error| fail(&error.to_string(), 1));
    let mut offset = 0;
    while offset < total {
        let end = total.min(offset + CHUNK as u64);
        let chunk: Vec<u8> = (offset..end).map(expected).collect();
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            match stream.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) => fail(&error.to_string(), 1),
            }
        }
        offset = end;
    }
    // returns when everything is acknowledged
    match stream.close() {
        Ok(()) => exit(0),
        Err(error) => fail(&error.to_string(), 1),
    }
}

fn receive(total: u64) -> ! {
    let listener = UtpListener::bind(format!("0.0.0.0:{}", told("PORT")).as_str())
        .unwrap_or_else(|error| fail(&error.to_string(), 1));
    let (socket, _) = listener.accept().unwrap_or_else(|error| fail(&error.to_string(), 1));
    let mut stream = UtpStream::from(socket);
    let mut file = env::var("PAYLOAD").ok().map(|path| std::fs::File::create(path).expect("PAYLOAD can be written"));
    let mut buffer = [0; 1 << 16];
    let mut offset = 0;
    while offset < total {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                for byte in &buffer[..read] {
                    if *byte != expected(offset) {
                        fail(&format!("wrong byte at offset {offset}"), 1);
                    }
                    offset += 1;
                }
                RECEIVED.store(offset, Ordering::Relaxed);
                if let Some(file) = file.as_mut() {
                    file.write_all(&buffer[..read]).expect("PAYLOAD can be written");
                }
            }
            Err(error) => fail(&error.to_string(), 1),
        }
    }
    // answers the sender's end of the stream
    while stream.read(&mut buffer).unwrap_or(0) > 0 {}
    finish(if total != u64::MAX && offset < total { 1 } else { 0 })
}

fn finish(status: i32) -> ! {
    if told("ROLE") == "receiver" {
        let path = format!("{}/received_bytes", told("LOGDIR"));
        std::fs::write(path, format!("{}\n", RECEIVED.load(Ordering::Relaxed))).expect("LOGDIR can be written");
    }
    exit(status)
}

/// Waits for SIGTERM in a separate thread, because the crate's calls cannot be interrupted.
fn await_end() {
    unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut());
        std::thread::spawn(move || {
            let mut signal = 0;
            libc::sigwait(&signals, &mut signal);
            finish(0)
        });
    }
}

fn main() {
    if env::args().nth(1).as_deref() == Some("--version") {
        println!("utp 0.7.0");
        return;
    }
    let params: serde_json::Value = serde_json::from_str(&told("PARAMS")).unwrap_or_default();
    if let Some(name) = params.as_object().and_then(|map| map.keys().next()) {
        fail(&format!("unknown parameter {name}"), 127);
    }
    let total = env::var("BYTES").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(u64::MAX);
    await_end();
    match told("ROLE").as_str() {
        "sender" => send(total),
        "receiver" => receive(total),
        role => fail(&format!("unknown role {role}"), 127),
    }
}
