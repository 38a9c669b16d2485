//! Signals: the first one stops everything well, the second one ends the waiting for it.
#![allow(clippy::print_stdout)] // how one process tells the other

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use actix::fut::wrap_future;
use actix::prelude::*;
use actix_persistence::prelude::*;

use crate::counter::{Count, Counter};

/// Makes this test program the process that gets the signals.
const ROLE: &str = "ACTIX_PERSISTENCE_TEST_STOPPED_BY_SIGNAL";
/// No test waits for it.
const DEADLINE: Duration = Duration::from_secs(3_600);

#[test]
fn sigterm_stops_as_well_as_sigint() {
    for signal in ["INT", "TERM"] {
        let mut process = Process::start("busy for a moment");
        process.expect("ready");
        process.send(signal);
        process.expect("stopping");
        process.expect("1 of 1 actors stopped");
        process.expect("the counter is at 7");
        process.expect_end();
    }
}

#[test]
fn a_second_signal_ends_the_waiting_and_names_what_is_left() {
    for (first, second) in [("INT", "TERM"), ("TERM", "INT"), ("INT", "INT")] {
        let mut process = Process::start("busy for ever");
        process.expect("ready");
        process.send(first);
        // The first one has been heard, so that the next is the second.
        process.expect("stopping");
        process.send(second);
        let report = process.line();
        assert_eq!(report, "1 of 1 actors could not finish");
        let left = process.line();
        assert!(left.contains("Counter|1"), "{left}");
        process.expect("the counter is at 7");
        process.expect_end();
    }
}

/// Keeps its actor from stopping: a spawned future may be what answers a command.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Busy {
    pub(crate) for_ever: bool,
}

impl Handler<Busy> for Counter {
    type Result = ();

    fn handle(&mut self, busy: Busy, ctx: &mut Self::Context) {
        let (stopping, for_ever) = (Persistence::current().unwrap(), busy.for_ever);
        ctx.spawn(wrap_future(async move {
            while !stopping.is_stopping() || for_ever {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }));
    }
}

/// The process under test; no test of its own.
#[actix::test]
async fn stopped_by_signal() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let persistence = Persistence::memory().await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    counter.send(Count(7)).await.unwrap().unwrap();
    let for_ever = role == "busy for ever";
    counter.send(Busy { for_ever }).await.unwrap();
    let watched = persistence.clone();
    let stop = async {
        tokio::join!(persistence.stop_on_ctrl_c(DEADLINE), async {
            // After the first poll of the other, which listens from then on.
            println!("ready");
            while !watched.is_stopping() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            println!("stopping");
        })
    };
    let (report, ()) = stop.await;
    println!("{}", report.unwrap());
    let replayed = persistence.replay(Counter::named("1")).await.unwrap();
    println!("the counter is at {}", replayed.actor.count);
    std::process::exit(0);
}

struct Process {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(role: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["stop_signals::stopped_by_signal", "--exact", "--nocapture"])
            .env(ROLE, role)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// The next line of the process; what the test harness says is passed over.
    fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "it has ended"
            );
            let line = line.trim_end();
            if !line.is_empty() && !line.starts_with("running ") {
                return line.to_owned();
            }
        }
    }

    fn expect(&mut self, expected: &str) {
        let line = self.line();
        // The harness has written the name of the test without an end of line.
        assert!(line.ends_with(expected), "{line}");
    }

    fn expect_end(&mut self) {
        assert!(self.child.wait().unwrap().success());
    }

    fn send(&self, signal: &str) {
        let kill = format!("kill -{signal} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Of a test that has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
