//! A series: one kind of work, and the libraries that do it in turn.

use std::time::Duration;

use crate::databases::Databases;

const ROUNDS: usize = 5;
const MILLIS: usize = 1_000;

/// The libraries that are measured for one kind of work.
pub(crate) struct Series {
    pub(crate) work: String,
    pub(crate) databases: Databases,
    pub(crate) libraries: Vec<String>,
    pub(crate) rounds: usize,
    /// The time that a measurement takes, unless it is of a fixed number of events.
    pub(crate) time: Duration,
}

impl Series {
    pub(crate) fn of(text: &str) -> Self {
        let parts = text
            .split_once('=')
            .and_then(|(at, libraries)| Some((at.split_once('@')?, libraries)));
        let ((work, backend), libraries) = parts.expect("a series is WORK@BACKEND=LIBRARY,LIBRARY");
        Self {
            work: work.to_owned(),
            databases: Databases::of(backend),
            libraries: libraries.split(',').map(str::to_owned).collect(),
            rounds: from_environment("ROUNDS", ROUNDS),
            time: Duration::from_millis(from_environment("MILLIS", MILLIS) as u64),
        }
    }

    /// Returns the number in the name of the work, which follows this prefix; `None` for other work.
    pub(crate) fn number(&self, prefix: &str) -> Option<usize> {
        self.work.strip_prefix(prefix)?.parse().ok()
    }

    /// Writes the line of one measurement.
    pub(crate) fn report(&self, round: usize, library: &str, rate: f64) {
        let (work, backend) = (&self.work, self.databases.backend());
        println!(
            r#"{{"work":"{work}","backend":"{backend}","side":"{library}","round":{round},"rate":{rate:.1}}}"#
        );
    }
}

/// A number that a person may set.
fn from_environment(name: &str, default: usize) -> usize {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}
