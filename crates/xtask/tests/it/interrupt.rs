//! Ctrl-C ends a command with everything it started, and its servers outlive it in no way it may end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::Fixture;

/// Long enough for what must come, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A test that starts a program, says which, and waits for it far longer than anyone does.
const ENDLESS: &str = r#"
fn main() {
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    println!("sleeping {}", child.id());
    child.wait().unwrap();
    println!("woken");
    std::thread::park();
}
"#;

/// A test that goes on after an interrupt, beside another one: it writes where it is, and is not heard before.
const STUBBORN: &str = r#"
fn main() {
    let mut child = std::process::Command::new("sh")
        .args(["-c", "trap '' INT; echo $$ > started.new; mv started.new started; sleep 1000"])
        .spawn()
        .unwrap();
    child.wait().unwrap();
    std::thread::park();
}
"#;

/// A test that says where its server is until it is not heard any more.
const TALKATIVE: &str = r#"
fn main() {
    let url = std::env::var("ACTIX_PERSISTENCE_TEST_POSTGRES_URL").unwrap();
    let (_, place) = url.split_once("@127.0.0.1:").unwrap();
    let (port, _) = place.split_once('/').unwrap();
    loop {
        println!("served on {port}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
"#;

const NEEDS_A_SERVER: &str = r#"
[package]
name = "alpha"
edition = "2024"

[package.metadata.actix-persistence]
test-servers = ["postgres"]

[[test]]
name = "tck"
harness = false
"#;

#[test]
fn an_interrupt_ends_the_tests_and_what_they_started() {
    let fixture = Fixture::new().with_crate("alpha", "tck", ENDLESS);
    let mut xtask = fixture
        .xtask(&["test", "--quick"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(xtask.stdout.take().unwrap());
    let sleeper = output
        .lines()
        .find_map(|line| line.unwrap().strip_prefix("sleeping ").map(str::to_owned))
        .expect("the test says which program it started");

    kill_process(Pid::from_child(&xtask), Signal::INT).unwrap();

    assert_eq!(xtask.wait().unwrap().code(), Some(130));
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_running(&sleeper) {
        assert!(Instant::now() < deadline, "process {sleeper} still runs");
        thread::yield_now();
    }
}

#[test]
fn an_interrupt_ends_tests_that_run_at_the_same_time_and_do_not_heed_it() {
    let fixture = Fixture::new()
        .with_crate("alpha", "tck", ENDLESS)
        .with_crate("beta", "tck", STUBBORN)
        .with_crate("gamma", "tck", "fn main() {}");
    let mut xtask = fixture
        .xtask(&["test", "--quick"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = fixture.folder("crates/beta/started");
    let deadline = Instant::now() + PATIENCE;
    while !started.exists() {
        assert!(Instant::now() < deadline, "both tests run at the same time");
        thread::yield_now();
    }
    let stubborn = fs::read_to_string(started).unwrap();

    kill_process(Pid::from_child(&xtask), Signal::INT).unwrap();

    assert_eq!(xtask.wait().unwrap().code(), Some(130));
    let deadline = Instant::now() + PATIENCE;
    while is_running(stubborn.trim()) {
        assert!(Instant::now() < deadline, "process {stubborn} still runs");
        thread::yield_now();
    }
}

#[test]
fn no_server_outlives_a_command_that_is_interrupted_or_killed() {
    let fixture = Fixture::new().with_crate("alpha", "tck", TALKATIVE);
    fixture.write("crates/alpha/Cargo.toml", NEEDS_A_SERVER);
    let mut killed = Vec::new();
    for signal in [Signal::KILL, Signal::TERM] {
        let mut xtask = fixture
            .xtask(&["test", "--quick"])
            // Those of the run that runs us.
            .env_remove("ACTIX_PERSISTENCE_TEST_POSTGRES_URL")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(xtask.stdout.take().unwrap()).lines();
        let port: u16 = output
            .by_ref()
            .find_map(|line| line.unwrap().strip_prefix("served on ").map(str::to_owned))
            .expect("the test says where its server is")
            .parse()
            .unwrap();
        // That of the server, and in memory one for files.
        let folders = folders_of(&fixture);
        let left = folders.iter().find(|folder| killed.contains(*folder));
        assert_eq!(left, None, "what a killed command left is forgotten");
        assert!(answers(port) && !folders.is_empty());
        assert!(folders.iter().all(|folder| folder.is_dir()));

        kill_process(Pid::from_child(&xtask), signal).unwrap();
        let status = xtask.wait().unwrap();

        if signal != Signal::KILL {
            assert_eq!(status.code(), Some(130));
            assert_eq!(folders_of(&fixture), [] as [PathBuf; 0]);
        }
        let deadline = Instant::now() + PATIENCE;
        while answers(port) || folders.iter().any(|folder| folder.exists()) {
            assert!(Instant::now() < deadline, "one of {folders:?} is left");
            thread::yield_now();
        }
        killed = folders;
    }
}

/// The folders that the lock files name.
fn folders_of(fixture: &Fixture) -> Vec<PathBuf> {
    let files = fs::read_dir(fixture.folder("target/tmp")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "server")
        })
        .map(|path| fs::read_to_string(path).unwrap().into())
        .collect()
}

fn answers(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// A dead process that its parent has not reaped yet does not run.
fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}
