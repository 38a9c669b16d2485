//! A program that follows the changes of a blog.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::place::Place;

/// Far longer than it takes; a change that never comes fails the test. What was stored while anybody on the server was
/// still writing comes later.
const LIMIT: Duration = Duration::from_secs(180);

/// Ends with the test.
pub(crate) struct Watching {
    program: Child,
    seen: Receiver<String>,
}

impl Watching {
    pub(crate) fn start(place: &Place) -> Self {
        let mut watch = place.command(&["watch"]);
        let mut program = watch.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(program.stdout.take().unwrap());
        let (sender, seen) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { program, seen }
    }

    /// Waits until the last change of each post is this, by its name; revisions rise, and none is above the last.
    pub(crate) fn until(&self, expected: &BTreeMap<String, String>) {
        let mut reached = BTreeMap::<String, String>::new();
        while reached != *expected {
            let line = self.seen.recv_timeout(LIMIT);
            let line = line
                .unwrap_or_else(|_| panic!("{} posts are missing", expected.len() - reached.len()));
            let (name, now) = line.split_once('\t').unwrap();
            let last = revision(&expected[name]);
            assert!(
                revision(now) <= last,
                "{line}, but the last revision is {last}"
            );
            let before = reached.insert(name.to_owned(), now.to_owned());
            assert!(
                before.is_none_or(|before| revision(&before) < revision(now)),
                "{line}"
            );
        }
    }
}

fn revision(now: &str) -> u64 {
    now.split('\t').next().unwrap().parse().unwrap()
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
