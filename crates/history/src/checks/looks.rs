//! Recoveries and replays see everything that was known to be stored, without a gap.

use crate::event_stream::{EventStream, Look};
use crate::violation::{Invariant, Violations};

pub(super) fn check(events: &EventStream<'_>, violations: &mut Violations) {
    for look in &events.looks {
        nothing_lost(events, look, violations);
        no_gap(events, look, violations);
        begins_where_it_must(events, look, violations);
        deleted_as_told(events, look, violations);
    }
}

fn nothing_lost(events: &EventStream<'_>, look: &Look<'_>, violations: &mut Violations) {
    let Some((known, line)) = events.known.before(look.from) else {
        return;
    };
    if look.recovered.highest < known {
        let sentence = format!(
            "event {known} of {:?} was known to be stored, and a later recovery came to {} only",
            events.id, look.recovered.highest
        );
        violations.add(Invariant::NothingLost, [line, look.line], sentence);
    }
}

fn no_gap(events: &EventStream<'_>, look: &Look<'_>, violations: &mut Violations) {
    let Some(seen) = &look.recovered.events else {
        return;
    };
    let id = events.id;
    for pair in seen.windows(2) {
        let [a, b] = [pair[0].0, pair[1].0];
        if b <= a {
            let sentence = format!("a recovery of {id:?} saw event {b} after event {a}");
            violations.add(Invariant::NoEventTwice, [look.line], sentence);
        } else if b > a + 1 {
            let sentence = format!("a recovery of {id:?} saw no event between {a} and {b}");
            violations.add(Invariant::NoGap, [look.line], sentence);
        }
    }
    if let Some((last, _)) = seen.last()
        && *last != look.recovered.highest
    {
        let highest = look.recovered.highest;
        let sentence = format!("a recovery of {id:?} came to {highest} and saw event {last} last");
        violations.add(Invariant::NoGap, [look.line], sentence);
    }
}

fn begins_where_it_must(events: &EventStream<'_>, look: &Look<'_>, violations: &mut Violations) {
    let Some(seen) = &look.recovered.events else {
        return;
    };
    let id = events.id;
    let first = seen
        .first()
        .map_or(look.recovered.highest + 1, |event| event.0);
    let snapshot = look.snapshot();
    if first <= snapshot + 1 {
        return;
    }
    let missing = first - 1;
    if missing > events.maybe_deleted.up_to(look.until) {
        let sentence = format!(
            "a recovery of {id:?} with snapshot {snapshot} saw event {first} first, and no one has deleted event {missing}"
        );
        violations.add(Invariant::NothingLost, [look.line], sentence);
    } else if look.incarnation.is_some()
        && missing > events.maybe_deleted_uncovered.up_to(look.until)
    {
        let sentence = format!(
            "a recovery of {id:?} began with snapshot {snapshot} and event {first}: what is between them was deleted"
        );
        violations.add(Invariant::WholeRecovery, [look.line], sentence);
    }
}

fn deleted_as_told(events: &EventStream<'_>, look: &Look<'_>, violations: &mut Violations) {
    let id = events.id;
    let surely = events.surely_deleted.before(look.from);
    if let Some(deleted_to) = look.recovered.deleted_to {
        let asked = events.maybe_deleted.up_to(look.until);
        if deleted_to > asked {
            let sentence = format!(
                "{deleted_to} events of {id:?} are said to be deleted, and deletes up to {asked} were asked for"
            );
            violations.add(Invariant::DeletesAsAsked, [look.line], sentence);
        }
        if let Some((deleted, line)) = surely
            && deleted_to < deleted
        {
            let sentence = format!(
                "events up to {deleted} of {id:?} were deleted, and later they are said to be deleted up to {deleted_to}"
            );
            violations.add(Invariant::DeletesAsAsked, [line, look.line], sentence);
        }
    }
    // The events that the state remembers, up to its snapshot, may be deleted long since.
    let snapshot = look.snapshot();
    let mut replayed = look.recovered.events.iter().flatten().map(|event| event.0);
    let first = replayed.find(|number| *number > snapshot);
    if let (Some(first), Some((deleted, line))) = (first, surely)
        && first <= deleted
    {
        let sentence = format!("event {first} of {id:?} was deleted, and a later recovery saw it");
        violations.add(Invariant::DeletesAsAsked, [line, look.line], sentence);
    }
}
