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

/// A measurement of a side.
pub(crate) struct Reading {
    /// Events per second.
    pub(crate) rate: f64,
    /// The microseconds within which 50, 99 and 99.9 of 100 were done, where that is asked for.
    micros: Option<[f64; 3]>,
}

impl From<f64> for Reading {
    fn from(rate: f64) -> Self {
        Self { rate, micros: None }
    }
}

impl Reading {
    /// The reading of these times, at least one, of what was done in `took` altogether.
    pub(crate) fn of(mut times: Vec<Duration>, took: Duration) -> Self {
        times.sort_unstable();
        let within = |share: f64| {
            let rank = (times.len() as f64 * share).ceil() as usize;
            times[rank.max(1) - 1].as_secs_f64() * 1e6
        };
        Self {
            rate: rate(times.len(), took),
            micros: Some([0.5, 0.99, 0.999].map(within)),
        }
    }
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

    /// Returns whether a side has a name that begins so.
    pub(crate) fn has_side_of(&self, prefix: &str) -> bool {
        self.sides.iter().any(|side| side.starts_with(prefix))
    }

    /// Measures the sides in turn, and writes a line for each.
    pub(crate) async fn measure<R: Into<Reading>>(&self, mut read: impl AsyncFnMut(&str) -> R) {
        for round in 1..=self.rounds {
            for side in &self.sides {
                let Reading { rate, micros } = read(side).await.into();
                let micros = micros.map_or(String::new(), |[p50, p99, p999]| {
                    format!(r#","micros":[{p50:.1},{p99:.1},{p999:.1}]"#)
                });
                let Self { work, backend, .. } = self;
                println!(
                    r#"{{"work":"{work}","backend":"{backend}","side":"{side}","round":{round},"rate":{rate:.1}{micros}}}"#
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
