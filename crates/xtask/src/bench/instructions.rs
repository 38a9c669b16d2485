//! The instructions of an event on the way through the actors, counted by callgrind: memory plugin, one actor and many.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};

use crate::child::{self, Report};
use crate::progress::{self, Step};

/// The numbers of actors.
const ACTORS: [u64; 2] = [1, 100];
/// The events of all actors in a short run and in a long one, whose difference is free of start and end.
const SHORT: u64 = 1_000;
const LONG: u64 = 51_000;

/// Prints the instructions of an event for each number of actors.
pub(super) fn run(program: &Path) -> anyhow::Result<ExitCode> {
    println!("actors  instructions an event, of all threads, in memory");
    for actors in ACTORS {
        let short = count(program, actors, SHORT)?;
        let long = count(program, actors, LONG)?;
        println!("{actors:>6}  {:>21}", per_event(short, long));
    }
    Ok(ExitCode::SUCCESS)
}

/// Counts the instructions of the whole program that stores so many events.
fn count(program: &Path, actors: u64, events: u64) -> anyhow::Result<u64> {
    let step = Step::start(format!(
        "{events} events of {actors} actors under callgrind"
    ));
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg(format!("each-{}@memory={actors}", events / actors))
        .env("ROUNDS", "1");
    let mut collected = None;
    let status = child::lines(command, |heard| match heard {
        Report::Line(line) => match instructions(line) {
            Some(count) => collected = Some(count),
            None if line.starts_with("==") || line.starts_with('{') => {}
            None => progress::note(line),
        },
        Report::Silent => step.still_running(),
    })
    .context("could not run valgrind, install it to count instructions")?;
    step.end(if status.success() {
        "counted"
    } else {
        "FAILED"
    });
    ensure!(status.success(), "the program has failed under valgrind");
    collected.context("callgrind has not said how many instructions it counted")
}

/// Reads the last line of callgrind, such as `==4711== Collected : 123456`.
fn instructions(line: &str) -> Option<u64> {
    let (head, count) = line.split_once("Collected :")?;
    head.starts_with("==").then_some(())?;
    count.trim().parse().ok()
}

fn per_event(short: u64, long: u64) -> u64 {
    long.saturating_sub(short) / (LONG - SHORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_in_the_last_line_of_callgrind() {
        assert_eq!(instructions("==4711== Collected : 123456"), Some(123_456));
        for other in [
            "==4711== Events    : Ir",
            "Collected : 1",
            "==4711== Collected : much",
        ] {
            assert_eq!(instructions(other), None, "{other}");
        }
    }

    #[test]
    fn start_and_end_are_not_among_the_instructions_of_an_event() {
        let start = 5_000_000;
        let run = |events| start + events * 20_000;
        assert_eq!(per_event(run(SHORT), run(LONG)), 20_000);
    }
}
