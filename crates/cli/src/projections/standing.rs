//! The progress of projections as people and programs read it.

use std::time::{Duration, Instant};

use actix_persistence::Timestamp;
use actix_persistence::projection::{Behind, ProjectionKey, ProjectionProgress, ProjectionRecord};
use actix_persistence::query::EventOffset;
use serde::Serialize;

use crate::moment::written;

/// The state of a projection as a whole.
#[derive(Debug, Serialize)]
pub(super) struct Standing {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) live: bool,
    pub(super) paused: bool,
    /// The number of shares.
    pub(super) shares: usize,
    /// The number of shares that are halted.
    pub(super) halted: usize,
    /// The owners that take part.
    pub(super) members: Vec<String>,
    /// The number of parked ids.
    pub(super) parked: u64,
    pub(super) handled: u64,
    /// The time of the last item of the share that is furthest behind, in UTC.
    pub(super) reached_time: Option<String>,
    /// `None` if it is unknown.
    pub(super) caught_up: Option<bool>,
    /// The seconds by which it is behind; `None` if it is unknown.
    pub(super) behind_seconds: Option<f64>,
}

impl Standing {
    pub(super) fn new(
        key: &ProjectionKey,
        record: &ProjectionRecord,
        newest: Option<&EventOffset>,
    ) -> Self {
        let progress = ProjectionProgress::new(record, Instant::now());
        let behind = behind(&progress, newest);
        let halted = record.shares.iter().filter(|share| share.halted.is_some());
        Self {
            name: key.name().to_owned(),
            version: key.version(),
            live: record.live,
            paused: record.paused,
            shares: record.shares.len(),
            halted: halted.count(),
            members: record.members.iter().map(ToString::to_string).collect(),
            parked: record.parked,
            handled: progress.handled,
            reached_time: progress.reached_time().map(written),
            caught_up: match behind {
                Behind::Nothing => Some(true),
                Behind::By(_) => Some(false),
                _ => None,
            },
            behind_seconds: match behind {
                Behind::Nothing => Some(0.0),
                Behind::By(time) => Some(time.as_secs_f64()),
                _ => None,
            },
        }
    }

    /// Returns the time by which it is behind, for a person.
    pub(super) fn behind(&self) -> String {
        match (self.caught_up, self.behind_seconds) {
            (Some(true), _) => "caught up".to_owned(),
            (_, Some(seconds)) => in_words(Duration::from_secs_f64(seconds)),
            _ => "unknown".to_owned(),
        }
    }
}

/// Returns the time by which a progress is behind the newest offset; unknown without one.
pub(super) fn behind(progress: &ProjectionProgress, newest: Option<&EventOffset>) -> Behind {
    newest.map_or(Behind::Unknown, |newest| {
        progress.behind(newest, Timestamp::now())
    })
}

/// Returns a duration in two units at most, such as `4m 10s`.
pub(super) fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [
        ("d", seconds / 86_400),
        ("h", seconds / 3_600 % 24),
        ("m", seconds / 60 % 60),
        ("s", seconds % 60),
    ];
    let Some(first) = units.iter().position(|(_, number)| *number > 0) else {
        return "less than 1s".to_owned();
    };
    let shown = units.iter().skip(first).take(2);
    let shown = shown.filter(|(_, number)| *number > 0);
    let parts: Vec<_> = shown
        .map(|(unit, number)| format!("{number}{unit}"))
        .collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_written_in_two_units_at_most() {
        for (seconds, expected) in [
            (0, "less than 1s"),
            (1, "1s"),
            (59, "59s"),
            (60, "1m"),
            (250, "4m 10s"),
            (3_600, "1h"),
            (3_601, "1h"),
            (90_061, "1d 1h"),
            (86_400 * 400, "400d"),
        ] {
            assert_eq!(in_words(Duration::from_secs(seconds)), expected);
        }
        assert_eq!(in_words(Duration::from_millis(999)), "less than 1s");
    }
}
