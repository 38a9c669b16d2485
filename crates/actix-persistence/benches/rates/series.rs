//! A series: the sides of one kind of work on one database, measured in turn, round by round.

use std::time::Duration;

/// The rounds of a series, unless the variable `ROUNDS` names another number.
const ROUNDS: usize = 5;
/// The time that a measurement takes, unless the variable `MILLIS` names another number of milliseconds.
const MILLIS: usize = 1_000;

/// The time that the actors of a series have to end.
pub(crate) const END: Duration = Duration::from_secs(10);

/// The sides of one kind of work on one database.
pub(crate) struct Series {
    pub(crate) work: String,
    pub(crate) backend: String,
    sides: Vec<String>,
    /// The time that a measurement takes, unless it is of a fixed number of events.
    pub(crate) time: Duration,
    rounds: usize,
}

impl Series {
    /// Reads what is to be measured; cargo adds an option of its own.
    pub(crate) fn of_arguments(arguments: impl Iterator<Item = String>) -> Vec<Self> {
        let series = arguments.filter(|argument| argument != "--bench");
        series.map(|argument| Self::of(&argument)).collect()
    }

    fn of(text: &str) -> Self {
        let parts = text
            .split_once('=')
            .and_then(|(at, sides)| Some((at.split_once('@')?, sides)));
        let ((work, backend), sides) = parts.expect("a series is WORK@BACKEND=SIDE,SIDE");
        Self {
            work: work.to_owned(),
            backend: backend.to_owned(),
            sides: sides.split(',').map(str::to_owned).collect(),
            time: Duration::from_millis(from_environment("MILLIS", MILLIS) as u64),
            rounds: from_environment("ROUNDS", ROUNDS),
        }
    }

    /// Measures the sides in turn, and writes a line for each: events per second.
    pub(crate) async fn measure(&self, mut rate: impl AsyncFnMut(&str) -> f64) {
        for round in 1..=self.rounds {
            for side in &self.sides {
                let rate = rate(side).await;
                let Self { work, backend, .. } = self;
                println!(
                    r#"{{"work":"{work}","backend":"{backend}","side":"{side}","round":{round},"rate":{rate:.1}}}"#
                );
            }
        }
    }

    /// Returns the number in the name of the work, which follows this prefix.
    pub(crate) fn number(&self, prefix: &str) -> usize {
        let number = self.work.strip_prefix(prefix);
        let number = number.and_then(|number| number.parse().ok());
        number.unwrap_or_else(|| panic!("no work {} on {}", self.work, self.backend))
    }

    /// Ends the program: the side is none of this work.
    pub(crate) fn has_no(&self, side: &str) -> ! {
        panic!("{} on {} has no side {side}", self.work, self.backend)
    }
}

pub(crate) fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// A number that a person may set.
pub(crate) fn from_environment(name: &str, default: usize) -> usize {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}
