//! Programs that are killed while they change posts: no revision is skipped or used twice, no answer was untrue, and the
//! counts are those of the posts.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::place::Place;
use crate::posts::{Posts, line};
use crate::watching::Watching;

/// The variable with the number of rounds, 1 unless set.
const ROUNDS_VARIABLE: &str = "ACTIX_PERSISTENCE_TEST_ROUNDS";
/// Programs at once, each with posts of its own.
const WRITERS: usize = 4;
/// The number of kills in each round.
const KILLS: usize = 2;
const UPDATES: usize = 2_000 / WRITERS;
const POSTS: usize = 50;
/// A write may meet the last one of a program that is gone, once.
const ATTEMPTS: usize = 5;

/// The work of one of the programs.
struct Writer {
    number: usize,
    lines: Vec<String>,
    /// The number of its lines that are done.
    done: usize,
}

impl Writer {
    fn new(number: usize, rounds: usize) -> Self {
        let posts = POSTS * rounds / WRITERS;
        let line = |update| {
            line(
                update,
                &format!("w{number}-{}", update * 7_919 % posts),
                posts,
            )
        };
        Self {
            number,
            lines: (0..UPDATES * rounds).map(line).collect(),
            done: 0,
        }
    }

    /// Lets a program go on with what is left, and kills it after this many answers. Returns the answers.
    fn run(&self, place: &Place, answers: usize) -> Vec<String> {
        let mut apply = place.command(&["apply"]);
        apply.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = apply.spawn().unwrap();
        let mut stdin = program.stdin.take().unwrap();
        let input = self.lines[self.done..].concat();
        let writing = std::thread::spawn(move || {
            // It may be killed before it has read everything.
            let _ = stdin.write_all(input.as_bytes());
        });
        let stdout = BufReader::new(program.stdout.take().unwrap());
        let mut lines = stdout.lines();
        let mut answered: Vec<_> = lines.by_ref().take(answers).map(|l| l.unwrap()).collect();
        program.kill().unwrap();
        program.wait().unwrap();
        writing.join().unwrap();
        // The lines that it had printed by then; a line is written whole.
        answered.extend(lines.map_while(Result::ok));
        answered
    }

    /// Compares what was answered with what had to be, and finds out whether one more change was made.
    fn check(&mut self, place: &Place, answered: &[String], posts: &mut Posts) {
        for answer in answered {
            let expected = posts.apply(&self.lines[self.done]);
            assert_eq!(*answer, expected, "writer {}", self.number);
            self.done += 1;
        }
        let Some(unanswered) = self.lines.get(self.done) else {
            return;
        };
        let name = unanswered.trim_end().split(',').nth(1).unwrap().to_owned();
        let before = posts.revision(&name);
        let touched = touch(place, &name);
        let mut after = posts.clone();
        after.apply(unanswered);
        if touched != before + 1 {
            assert_eq!(touched, after.revision(&name) + 1, "{name} after {before}");
            *posts = after;
            self.done += 1;
        }
        posts.apply(&format!("write,{name},Touched,-\n"));
    }
}

/// Writes a post anew once nothing of the killed program is under way; returns the revision.
fn touch(place: &Place, name: &str) -> u64 {
    for _ in 0..ATTEMPTS {
        let output = place.output(&["write", name, "Touched", "-"], "");
        if output.status.success() {
            let line = String::from_utf8(output.stdout).unwrap();
            return line
                .trim_end()
                .trim_start_matches("revision ")
                .parse()
                .unwrap();
        }
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("another writer"), "{error}");
    }
    panic!("{name} cannot be written any more");
}

fn survives(place: &Place) {
    let rounds = std::env::var(ROUNDS_VARIABLE).map_or(1, |rounds| rounds.parse().unwrap());
    let mut writers: Vec<_> = (0..WRITERS).map(|n| Writer::new(n, rounds)).collect();
    let mut posts = Posts::default();
    // The tables are made once, before anybody is killed.
    assert_eq!(place.lines(&["counts"], ""), ["0 drafts, 0 published"]);
    let kills = KILLS * rounds;
    for kill in 0..=kills {
        let share = UPDATES * rounds / (kills + 1);
        let answered: Vec<_> = std::thread::scope(|scope| {
            let running = writers.iter().map(|writer| {
                // Not all at the same point; the last time no process is killed before the end.
                let answers = if kill == kills {
                    usize::MAX
                } else {
                    share + writer.number
                };
                scope.spawn(move || writer.run(place, answers))
            });
            let running: Vec<_> = running.collect();
            running
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .collect()
        });
        for (writer, answered) in writers.iter_mut().zip(&answered) {
            writer.check(place, answered, &mut posts);
        }
        Watching::start(place).until(&posts.shown());
        assert_eq!(place.lines(&["counts"], ""), [posts.counts()]);
    }
    assert!(
        writers
            .iter()
            .all(|writer| writer.done == writer.lines.len())
    );
}

#[test]
fn kills_cost_no_revision_and_no_count_on_sqlite() {
    survives(&Place::default());
}

#[test]
fn kills_cost_no_revision_and_no_count_on_postgres() {
    survives(&Place::postgres());
}

#[test]
fn kills_cost_no_revision_and_no_count_on_mysql() {
    survives(&Place::mysql());
}
