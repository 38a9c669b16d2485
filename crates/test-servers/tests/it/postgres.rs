//! PostgreSQL starts, dies, pauses, and comes back with the same address.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;

use actix_persistence_test_servers::{Database, Server};

/// What a client asks first: whether it may encrypt.
const MAY_I_ENCRYPT: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

fn start() -> Server {
    Server::start(Database::Postgres, Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap()
}

fn ask(server: &Server) -> io::Result<TcpStream> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port()))?;
    connection.write_all(&MAY_I_ENCRYPT)?;
    Ok(connection)
}

fn answer(mut connection: &TcpStream) -> io::Result<u8> {
    let mut answer = [0];
    connection.read_exact(&mut answer)?;
    Ok(answer[0])
}

#[test]
fn a_started_server_answers_at_once_and_leaves_nothing_behind() {
    let server = start();
    let folder = server.socket_folder().to_path_buf();
    assert_eq!(answer(&ask(&server).unwrap()).unwrap(), b'N');
    assert!(folder.join(format!(".s.PGSQL.{}", server.port())).exists());
    assert!(
        server
            .url()
            .ends_with(&format!("@127.0.0.1:{}/postgres", server.port()))
    );
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn a_killed_server_refuses_and_comes_back_at_the_same_address() {
    let mut server = start();
    let url = server.url();
    let open = ask(&server).unwrap();
    assert_eq!(answer(&open).unwrap(), b'N');

    server.kill().unwrap();
    assert_eq!(
        ask(&server).unwrap_err().kind(),
        io::ErrorKind::ConnectionRefused
    );
    // The connection has died with the process that served it.
    assert!(answer(&open).is_err());

    server.restart().unwrap();
    assert_eq!(server.url(), url);
    assert_eq!(answer(&ask(&server).unwrap()).unwrap(), b'N');
}

#[test]
fn a_suspended_server_is_silent_until_it_goes_on() {
    let server = start();
    server.suspend().unwrap();
    // The system takes the connection; nobody answers.
    let connection = ask(&server).unwrap();
    connection
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    assert_eq!(
        answer(&connection).unwrap_err().kind(),
        io::ErrorKind::WouldBlock
    );
    server.resume().unwrap();
    connection.set_read_timeout(None).unwrap();
    assert_eq!(answer(&connection).unwrap(), b'N');
}

#[test]
fn a_suspended_server_can_be_killed() {
    let mut server = start();
    server.suspend().unwrap();
    server.kill().unwrap();
    assert!(ask(&server).is_err());
}
