//! A network that is far away: what goes through it arrives later.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Starts a relay to a port of this machine, and returns its port: bytes arrive this much later, in either direction, and do
/// not wait for one another. It lasts as long as the process.
///
/// Threads sleep, because a timer of tokio is as coarse as the delay.
pub(super) fn start(port: u16, delay: Duration) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            let clone = |stream: &TcpStream| stream.try_clone().unwrap();
            carry(clone(&client), clone(&server), delay);
            carry(server, client, delay);
        }
    });
    own
}

/// Carries bytes one way, and then the end.
fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    to.set_nodelay(true).unwrap();
    let (sender, chunks) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        // An error ends it as the end does.
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let due = Instant::now() + delay;
            if sender.send((due, buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in chunks {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        // One that is gone already has nothing to end.
        let _ = to.shutdown(Shutdown::Write);
    });
}
