//! A batch is stored whole, in order and without another's event in it, or not at all.

use crate::event_stream::{EventStream, Placed};
use crate::violation::{Invariant, Violations};

pub(super) fn check(events: &EventStream<'_>, violations: &mut Violations) {
    for placed in &events.log {
        one_place(events, placed, violations);
    }
    for look in &events.looks {
        ends_with_batch(events, look.recovered.highest, look.line, violations);
    }
}

/// Checks that the events beside this one are the rest of its batch.
fn one_place(events: &EventStream<'_>, placed: &Placed, violations: &mut Violations) {
    let Some((write, place)) = events.persist_of(placed.uid) else {
        return;
    };
    // Each event answers for its neighbour, so that the work stays in proportion.
    let neighbours = [
        place
            .checked_sub(1)
            .map(|before| (before, placed.number.checked_sub(1))),
        (place + 1 < write.uids.len()).then_some((place + 1, placed.number.checked_add(1))),
    ];
    for (neighbour, number) in neighbours.into_iter().flatten() {
        let expected = write.uids[neighbour];
        let there = number.and_then(|number| events.at(number));
        if let Some(there) = there.filter(|there| there.uid != expected) {
            let sentence = format!(
                "event {} of {:?} belongs to a batch of {}, and where {expected} of the batch must be is {}",
                placed.uid,
                events.id,
                write.uids.len(),
                there.uid,
            );
            violations.add(
                Invariant::WholeBatches,
                [write.line, placed.line, there.line],
                sentence,
            );
        }
        if number == Some(0) {
            let sentence = format!(
                "event {} of {:?} has no room for its batch before it",
                placed.uid, events.id
            );
            violations.add(Invariant::WholeBatches, [write.line, placed.line], sentence);
        }
    }
}

/// Checks that a batch ends where the log was seen to end.
pub(super) fn ends_with_batch(
    events: &EventStream<'_>,
    highest: u64,
    line: usize,
    violations: &mut Violations,
) {
    let Some(last) = events.at(highest) else {
        return;
    };
    if let Some((write, place)) = events.persist_of(last.uid)
        && place + 1 < write.uids.len()
    {
        let sentence = format!(
            "{:?} ended with event {highest}, which is number {} of a batch of {}",
            events.id,
            place + 1,
            write.uids.len()
        );
        violations.add(Invariant::WholeBatches, [write.line, line], sentence);
    }
}
