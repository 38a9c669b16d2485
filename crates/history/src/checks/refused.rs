//! An event that was said certainly not to be stored never is.

use crate::event_stream::{EventStream, Outcome};
use crate::violation::{Invariant, Violations};

pub(super) fn check(events: &EventStream<'_>, violations: &mut Violations) {
    for placed in &events.log {
        for (write, _) in events.writes_of(placed.uid) {
            if write.outcome == Outcome::Not {
                let sentence = format!(
                    "event {} of {:?} was said not to be stored, and is there under number {}",
                    placed.uid, events.id, placed.number
                );
                let lines = [write.line, write.answer_line, placed.line];
                violations.add(Invariant::RefusedNeverStored, lines, sentence);
            }
        }
    }
}
