//! Servers start, die, pause, and come back with the same address.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use actix_persistence_test_servers::{Database, Server};

/// The first question of a client of PostgreSQL: whether it may encrypt. MariaDB speaks first.
const MAY_I_ENCRYPT: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

fn start(database: Database) -> Server {
    Server::start(database, Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap()
}

/// Returns the file in which PostgreSQL names its process.
fn file_of(server: &Server) -> PathBuf {
    server.socket_folder().join("data/postmaster.pid")
}

fn connect(database: Database, server: &Server) -> io::Result<TcpStream> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port()))?;
    if database == Database::Postgres {
        connection.write_all(&MAY_I_ENCRYPT)?;
    }
    Ok(connection)
}

/// Waits for the first byte that the server says.
fn greeting(mut connection: &TcpStream) -> io::Result<()> {
    connection.read_exact(&mut [0])
}

#[test]
fn a_started_server_answers_at_once_and_leaves_nothing_behind() {
    for database in Database::ALL {
        let server = start(database);
        let folder = server.socket_folder().to_path_buf();
        greeting(&connect(database, &server).unwrap()).unwrap();
        let place = format!("@127.0.0.1:{}/", server.port());
        assert!(server.url().contains(&place), "{database}");
        assert!(folder.exists());
        drop(server);
        assert!(!folder.exists(), "{database}");
    }
}

#[test]
fn a_postgres_killed_started_again_and_suspended_leaves_no_memory() {
    let mut server = start(Database::Postgres);
    server.kill().unwrap();
    server.restart().unwrap();
    // Its end must not wait for someone who lets it go on.
    server.suspend().unwrap();
    let file = fs::read_to_string(file_of(&server)).unwrap();
    let segment = file.lines().nth(6).unwrap();
    let [_, number] = segment.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("no segment: {file}");
    };
    let is_there = || {
        let all = fs::read_to_string("/proc/sysvipc/shm").unwrap();
        let mut numbers = all
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1));
        numbers.any(|other| other == number)
    };
    assert!(is_there());
    drop(server);
    assert!(!is_there());
}

#[test]
fn a_killed_server_refuses_and_comes_back_at_the_same_address() {
    for database in Database::ALL {
        let mut server = start(database);
        let url = server.url();
        let open = connect(database, &server).unwrap();
        greeting(&open).unwrap();

        server.kill().unwrap();
        let refused = connect(database, &server).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        // The connection has died with the process that served it.
        let rest = io::copy(&mut &open, &mut io::sink());
        assert!(
            rest.is_err() || rest.is_ok_and(|bytes| bytes < 200),
            "{database}"
        );

        server.restart().unwrap();
        assert_eq!(server.url(), url);
        greeting(&connect(database, &server).unwrap()).unwrap();
    }
}

#[test]
fn a_killed_server_comes_back_though_another_process_has_its_number() {
    let (other, mut server) = (start(Database::Postgres), start(Database::Postgres));
    server.kill().unwrap();
    let left = fs::read_to_string(file_of(&server)).unwrap();
    let (_, rest) = left.split_once('\n').unwrap();
    let number_of_other = fs::read_to_string(file_of(&other)).unwrap();
    let number_of_other = number_of_other.lines().next().unwrap();
    fs::write(file_of(&server), format!("{number_of_other}\n{rest}")).unwrap();
    server.restart().unwrap();
    greeting(&connect(Database::Postgres, &server).unwrap()).unwrap();
}

#[test]
fn a_suspended_server_is_silent_until_it_goes_on() {
    for database in Database::ALL {
        let server = start(database);
        server.suspend().unwrap();
        // The system takes the connection; no server answers.
        let connection = connect(database, &server).unwrap();
        let patience = Duration::from_millis(200);
        connection.set_read_timeout(Some(patience)).unwrap();
        let silence = greeting(&connection).unwrap_err();
        assert_eq!(silence.kind(), io::ErrorKind::WouldBlock, "{database}");
        server.resume().unwrap();
        connection.set_read_timeout(None).unwrap();
        greeting(&connection).unwrap();
    }
}

#[test]
fn a_suspended_server_can_be_killed() {
    for database in Database::ALL {
        let mut server = start(database);
        server.suspend().unwrap();
        server.kill().unwrap();
        assert!(connect(database, &server).is_err(), "{database}");
    }
}
