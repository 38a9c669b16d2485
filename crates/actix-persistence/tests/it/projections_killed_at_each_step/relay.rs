//! Stands between this process and its server: whatever passes is a step.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use super::crash::step;

/// Returns the URL of a relay in this process that leads to the server of a URL.
pub(super) fn before(url: &str) -> String {
    let (before, database) = url.rsplit_once('/').unwrap();
    let (account, server) = before.rsplit_once('@').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = server.to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let server = TcpStream::connect(&server).unwrap();
            join(client.unwrap(), server).unwrap();
        }
    });
    format!("{account}@127.0.0.1:{port}/{database}")
}

fn join(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (from_client, from_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || pass(from_client, server));
    std::thread::spawn(move || pass(from_server, client));
    Ok(())
}

/// Passes on what comes, until one side closes: a request of a driver comes at once, and is no longer than this.
fn pass(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return to.shutdown(Shutdown::Write);
        }
        step();
        to.write_all(&buffer[..read])?;
    }
}
