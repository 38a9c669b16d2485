//! Progress for a person: lines on standard error, so that standard output stays the result.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// Writes one progress line.
pub(crate) fn note(text: impl Display) {
    eprintln!("[xtask] {text}");
}

/// A piece of work that takes a while: says that it starts, that it goes on, how it ended and when.
pub(crate) struct Step {
    name: String,
    started: Instant,
}

impl Step {
    /// Starts the clock and says so.
    pub(crate) fn start(name: impl Into<String>) -> Self {
        let name = name.into();
        note(&name);
        Self {
            name,
            started: Instant::now(),
        }
    }

    /// Says how far the work is.
    pub(crate) fn goes_on(&self, with: impl Display) {
        note(format_args!("{}: {with}, {}", self.name, self.age()));
    }

    /// Says that the work still goes on.
    pub(crate) fn still_running(&self) {
        self.goes_on("still running");
    }

    /// Says how the work ended, and returns the time it took.
    pub(crate) fn end(self, outcome: impl Display) -> Duration {
        note(format_args!("{}: {outcome}, {}", self.name, self.age()));
        self.started.elapsed()
    }

    fn age(&self) -> String {
        seconds(self.started.elapsed())
    }
}

/// Returns a duration as people read it in a list of steps.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
