// cargo add librqbit-utp@=0.7.0 tokio --features tokio/full, as src/main.rs: one SYN in ten seconds.
use std::net::UdpSocket;
use std::time::{Duration, Instant};

#[tokio::main]
async fn main() {
    let deaf = UdpSocket::bind("127.0.0.1:5001").unwrap(); // hears, and does not answer
    deaf.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    tokio::spawn(async {
        let socket = librqbit_utp::UtpSocketUdp::new_udp("127.0.0.1:5002".parse().unwrap()).await.unwrap();
        let ended = socket.connect("127.0.0.1:5001".parse().unwrap()).await.err();
        println!("connect ended: {ended:?}");
    });
    let heard = tokio::task::spawn_blocking(move || {
        let (begun, mut packets) = (Instant::now(), 0);
        while begun.elapsed() < Duration::from_secs(10) {
            packets += i32::from(deaf.recv(&mut [0; 1500]).is_ok());
        }
        packets
    });
    println!("datagrams heard in 10 s: {}", heard.await.unwrap());
    std::process::exit(0);
}
