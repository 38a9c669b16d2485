//! Whoever follows the changes while they are made sees the last state of every post, and each post in order.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::place::{Place, lines_of};

const UPDATES: usize = 1_000;
const POSTS: usize = 50;
/// Far longer than it takes; a change that never comes fails the test.
const LIMIT: Duration = Duration::from_secs(60);

/// Lines for `apply`; some of them are refused, because there is no such post then.
fn updates() -> String {
    let line = |update: usize| {
        let post = update * 7_919 % POSTS;
        match update / POSTS % 10 {
            4 => format!("publish,post-{post}\n"),
            7 => format!("delete,post-{post}\n"),
            _ => format!("write,post-{post},Title {update},Text\n"),
        }
    };
    (0..UPDATES).map(line).collect()
}

/// Post and revision of a line.
fn position(line: &str) -> (String, u64) {
    let mut fields = line.split('\t');
    let post = fields.next().unwrap().to_owned();
    let revision = fields.next().unwrap().trim_start_matches("revision ");
    (post, revision.parse().unwrap())
}

/// A program that ends with the test.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn follows(place: &Place) {
    let mut watch = place.command(&["watch"]);
    let mut watching = Watching(watch.stdout(Stdio::piped()).spawn().unwrap());
    let (sender, seen) = mpsc::channel();
    let stdout = BufReader::new(watching.0.stdout.take().unwrap());
    let reading = std::thread::spawn(move || {
        for line in stdout.lines() {
            let _ = sender.send(line.unwrap());
        }
    });
    let applied = place.output(&["apply"], &updates());
    let applied = lines_of(&applied.stdout);
    assert_eq!(applied.len(), UPDATES);
    let stored = applied.iter().filter(|line| !line.starts_with("refused"));
    let last: HashMap<_, _> = stored.map(|line| position(line)).collect();
    assert_eq!(last.len(), POSTS);
    let mut reached = HashMap::new();
    while reached != last {
        let line = seen.recv_timeout(LIMIT).unwrap();
        let (post, revision) = position(&line);
        let before = reached.insert(post, revision);
        assert!(before.is_none_or(|before| before < revision), "{line}");
    }
    drop(watching);
    reading.join().unwrap();
    let now = place.lines(&["watch", "--once"], "");
    let of = |kind: &str| now.iter().filter(|line| line.contains(kind)).count();
    let expected = format!(
        "{} drafts, {} published",
        of("\tdraft\t"),
        of("\tpublished\t")
    );
    assert_eq!(place.lines(&["counts"], ""), [expected]);
}

#[test]
fn every_last_state_is_seen_on_sqlite() {
    follows(&Place::default());
}

#[test]
fn every_last_state_is_seen_on_postgres() {
    follows(&Place::postgres());
}

#[test]
fn every_last_state_is_seen_on_mysql() {
    follows(&Place::mysql());
}
