//! Ctrl-C ends a command with everything it started.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::Fixture;

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

/// A dead process that nobody has reaped yet does not run.
fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}
