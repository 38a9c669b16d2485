//! The proxy does to connections what it is told, and nothing else.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use actix_persistence_test_servers::{Cut, Direction, FaultProxy, Flow};

/// Long enough for what must come, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Long enough to notice what must not come.
const MOMENT: Duration = Duration::from_millis(150);

/// Sends back what it gets, and tells what that was.
struct Echo {
    port: u16,
    heard: mpsc::Receiver<Vec<u8>>,
}

impl Echo {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, heard) = mpsc::channel();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let tell = tell.clone();
                thread::spawn(move || echo(connection.unwrap(), &tell));
            }
        });
        Self { port, heard }
    }

    fn heard(&self) -> Vec<u8> {
        self.heard.recv_timeout(PATIENCE).unwrap()
    }

    fn heard_nothing(&self) -> bool {
        self.heard.recv_timeout(MOMENT).is_err()
    }
}

/// The end is told as nothing heard.
fn echo(mut connection: TcpStream, tell: &mpsc::Sender<Vec<u8>>) {
    let mut buffer = [0; 1000];
    loop {
        let length = connection.read(&mut buffer).unwrap_or(0);
        if tell.send(buffer[..length].to_vec()).is_err() || length == 0 {
            return;
        }
        let _ = connection.write_all(&buffer[..length]);
    }
}

fn start() -> (Echo, FaultProxy) {
    let echo = Echo::start();
    let proxy = FaultProxy::start(echo.port).unwrap();
    (echo, proxy)
}

fn connect(proxy: &FaultProxy) -> TcpStream {
    let connection = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    connection
}

fn answer(connection: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    connection.read_exact(&mut bytes).unwrap();
    bytes
}

/// A connection that has been used, so that it certainly reaches the server.
fn used(echo: &Echo, proxy: &FaultProxy) -> TcpStream {
    let mut connection = connect(proxy);
    connection.write_all(b"hello").unwrap();
    assert_eq!(answer(&mut connection, 5), b"hello");
    assert_eq!(echo.heard(), b"hello");
    connection
}

fn is_silent(connection: &mut TcpStream) -> bool {
    connection.set_read_timeout(Some(MOMENT)).unwrap();
    let error = connection.read(&mut [0]).unwrap_err();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    error.kind() == io::ErrorKind::WouldBlock
}

fn wait_until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE);
        thread::yield_now();
    }
}

#[test]
fn the_url_leads_through_the_proxy() {
    let (_, proxy) = start();
    let url = proxy.url("mysql://me:secret@127.0.0.1:3306/bank");
    assert_eq!(
        url,
        format!("mysql://me:secret@127.0.0.1:{}/bank", proxy.port())
    );
}

#[test]
fn without_faults_bytes_and_the_end_go_both_ways() {
    let (echo, proxy) = start();
    let mut connection = used(&echo, &proxy);
    connection.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(echo.heard(), b"");
    assert_eq!(connection.read(&mut [0]).unwrap(), 0);
}

#[test]
fn held_requests_are_delivered_late_even_if_their_sender_is_gone() {
    for resets in [false, true] {
        let (echo, proxy) = start();
        let mut connection = used(&echo, &proxy);
        if resets {
            // Closed with something unread, a socket resets its connection.
            connection.write_all(b"unread").unwrap();
            assert_eq!(echo.heard(), b"unread");
            connection.peek(&mut [0]).unwrap();
        }
        proxy.set(Direction::Requests, Flow::Hold);
        connection.write_all(b"late").unwrap();
        wait_until(|| proxy.held(Direction::Requests) == 4);
        drop(connection);
        assert!(echo.heard_nothing());
        proxy.pass();
        assert_eq!(echo.heard(), b"late");
        assert_eq!(echo.heard(), b"");
        wait_until(|| proxy.held(Direction::Requests) == 0);
    }
}

#[test]
fn requests_are_held_after_as_many_bytes_as_are_told() {
    let (echo, proxy) = start();
    let mut connection = used(&echo, &proxy);
    proxy.set(Direction::Requests, Flow::HoldAfter(3));
    connection.write_all(b"ab").unwrap();
    assert_eq!(echo.heard(), b"ab");
    connection.write_all(b"cdef").unwrap();
    assert_eq!(echo.heard(), b"c");
    wait_until(|| proxy.passed(Direction::Requests) == b"helloabc".len());
    assert!(proxy.held(Direction::Requests) > 0);
    assert!(echo.heard_nothing());
    drop(connection);
    assert_eq!(proxy.connections(), 1);
    proxy.pass();
    assert_eq!(echo.heard(), b"def");
    assert_eq!(echo.heard(), b"");
    wait_until(|| proxy.connections() == 0);
}

#[test]
fn swallowed_replies_never_come_but_their_requests_were_heard() {
    let (echo, proxy) = start();
    let mut connection = used(&echo, &proxy);
    proxy.set(Direction::Replies, Flow::Swallow);
    connection.write_all(b"lost").unwrap();
    assert_eq!(echo.heard(), b"lost");
    assert!(is_silent(&mut connection));
    proxy.pass();
    connection.write_all(b"found").unwrap();
    assert_eq!(answer(&mut connection, 5), b"found");
}

#[test]
fn delayed_bytes_come_later_and_in_order() {
    let (echo, proxy) = start();
    let mut connection = used(&echo, &proxy);
    proxy.set(Direction::Replies, Flow::Delay(MOMENT));
    let sent = Instant::now();
    connection.write_all(b"one").unwrap();
    assert_eq!(echo.heard(), b"one");
    connection.write_all(b"two").unwrap();
    assert_eq!(answer(&mut connection, 6), b"onetwo");
    assert!(sent.elapsed() >= MOMENT);
}

#[test]
fn a_cut_ends_open_connections_as_it_is_told_and_no_later_ones() {
    let (echo, proxy) = start();
    let mut closed = used(&echo, &proxy);
    proxy.cut(Cut::Closed);
    assert_eq!(closed.read(&mut [0]).unwrap(), 0);
    assert_eq!(echo.heard(), b"");

    let mut reset = used(&echo, &proxy);
    proxy.cut(Cut::Reset);
    let error = reset.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(echo.heard(), b"");
    used(&echo, &proxy);
}

#[test]
fn a_connection_is_cut_after_as_many_bytes_as_were_said() {
    for direction in [Direction::Requests, Direction::Replies] {
        let (echo, proxy) = start();
        let mut connection = used(&echo, &proxy);
        proxy.set(direction, Flow::CutAfter(4, Cut::Closed));
        connection.write_all(b"1234567").unwrap();
        let heard = echo.heard();
        match direction {
            Direction::Requests => assert_eq!(heard, b"1234"),
            Direction::Replies => {
                assert_eq!(heard, b"1234567");
                assert_eq!(answer(&mut connection, 4), b"1234");
            }
        }
        assert_eq!(echo.heard(), b"");
        let mut rest = Vec::new();
        let _ = connection.read_to_end(&mut rest);
        assert!(rest.len() <= 4);
        used(&echo, &proxy);
    }
}

#[test]
fn a_proxy_that_refuses_resets_new_connections_only() {
    let (echo, proxy) = start();
    let mut old = used(&echo, &proxy);
    proxy.refuse(true);
    let mut refused = connect(&proxy);
    let error = refused.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    old.write_all(b"still").unwrap();
    assert_eq!(answer(&mut old, 5), b"still");
    proxy.refuse(false);
    assert_eq!(echo.heard(), b"still");
    used(&echo, &proxy);
}

#[test]
fn a_server_that_is_not_there_is_seen_as_a_reset() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let proxy = FaultProxy::start(listener.local_addr().unwrap().port()).unwrap();
    drop(listener);
    let error = connect(&proxy).read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn a_half_closed_connection_goes_on_the_other_way() {
    let (echo, proxy) = start();
    let mut connection = used(&echo, &proxy);
    proxy.set(Direction::Replies, Flow::CutAfter(2, Cut::HalfClosed));
    connection.write_all(b"abcd").unwrap();
    assert_eq!(echo.heard(), b"abcd");
    assert_eq!(answer(&mut connection, 2), b"ab");
    assert_eq!(
        connection.read(&mut [0]).unwrap(),
        0,
        "the end of the replies"
    );
    wait_until(|| proxy.flow(Direction::Replies) == Flow::Pass);
    connection.write_all(b"efgh").unwrap();
    assert_eq!(echo.heard(), b"efgh");
}
