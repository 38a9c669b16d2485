//! Runs the program of docs/guide/actix-web.md as a client and a supervisor would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

#[test]
fn a_basket_is_the_same_after_a_graceful_restart_of_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let first = Service::start(folder.path());
    assert_eq!(
        first.put("/baskets/ann/items/1"),
        ("200".into(), "1".into())
    );
    assert_eq!(
        first.put("/baskets/ann/items/2"),
        ("200".into(), "2".into())
    );
    assert_eq!(
        first.put("/baskets/ann/items/2"),
        ("200".into(), "2".into())
    );
    assert_eq!(first.terminate(), "1 of 1 actors stopped\n");

    let second = Service::start(folder.path());
    assert_eq!(
        second.put("/baskets/ann/items/3"),
        ("200".into(), "3".into())
    );
    assert_eq!(
        second.put("/baskets/bob/items/3"),
        ("200".into(), "1".into())
    );
    assert_eq!(second.terminate(), "2 of 2 actors stopped\n");
}

#[test]
fn an_id_that_cannot_be_stored_is_a_bad_request() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path());
    let (status, text) = service.put(&format!("/baskets/{}/items/1", "x".repeat(300)));
    assert_eq!(status, "400", "{text}");
    assert_eq!(service.terminate(), "0 of 0 actors stopped\n");
}

/// The program, listening on a port of its own.
struct Service {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Service {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_with_actix_web"))
            .arg(folder.join("baskets.db"))
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        Self {
            address: address.to_owned(),
            child,
            stdout,
        }
    }

    /// Sends a PUT request; returns the status and the body of the answer.
    fn put(&self, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!(
            "PUT {path} HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap();
        (status.to_owned(), body.to_owned())
    }

    /// Sends SIGTERM; returns what the program prints until it has ended well.
    fn terminate(mut self) -> String {
        let kill = format!("kill -TERM {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(status.success());
        let mut printed = String::new();
        self.stdout.read_to_string(&mut printed).unwrap();
        assert!(self.child.wait().unwrap().success());
        printed
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // After a failed assertion; otherwise it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
