//! The rows of the end are what was known to be stored, but for what was deleted.

use super::batches::ends_with_batch;
use crate::event_stream::{EventStream, Placed, SnapshotDeletion};
use crate::gathered::Gathered;
use crate::violation::{Invariant, Violations};

pub(super) fn check(gathered: &Gathered<'_>, violations: &mut Violations) {
    let dumped = &gathered.dumped;
    for events in gathered
        .names()
        .filter_map(|name| gathered.last_events(name))
    {
        if let Some(line) = dumped.heads {
            head(events, line, violations);
        }
        if let Some(line) = dumped.events {
            event_rows(events, line, violations);
        }
        if let Some(line) = dumped.snapshots {
            snapshot_rows(events, line, violations);
        }
    }
}

fn head(events: &EventStream<'_>, dump: usize, violations: &mut Violations) {
    let id = events.id;
    let (known, known_line) = events.known.before(u64::MAX).unwrap_or_default();
    let highest = events.head.map_or(0, |head| head.highest);
    let line = events.head.map_or(dump, |head| head.line);
    if highest < known {
        let sentence = format!(
            "event {known} of {id:?} was known to be stored, and in the end the highest number is {highest}"
        );
        violations.add(Invariant::NothingLost, [known_line, line], sentence);
    }
    let deleted_to = events.head.map_or(0, |head| head.deleted_to);
    let asked = events.maybe_deleted.up_to(u64::MAX);
    if deleted_to > asked {
        let sentence = format!(
            "in the end events of {id:?} are deleted up to {deleted_to}, and no one has deleted beyond {asked}"
        );
        violations.add(Invariant::DeletesAsAsked, [line], sentence);
    }
    if let Some((deleted, answered)) = events.surely_deleted.before(u64::MAX)
        && deleted_to < deleted
    {
        let sentence = format!(
            "events of {id:?} were deleted up to {deleted}, and in the end they are up to {deleted_to}"
        );
        violations.add(Invariant::DeletesAsAsked, [answered, line], sentence);
    }
}

fn event_rows(events: &EventStream<'_>, dump: usize, violations: &mut Violations) {
    let id = events.id;
    let asked = events.maybe_deleted.up_to(u64::MAX);
    let may_begin_after = events.head.map_or(asked, |head| head.deleted_to);
    // Rows of deleted events may be removed later.
    let hidden = events.head.map_or(0, |head| head.deleted_to);
    let mut rows: Vec<&Placed> = events
        .rows
        .iter()
        .filter(|row| row.number > hidden)
        .collect();
    rows.sort_unstable();
    for pair in rows.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        if a.number == b.number {
            let sentence = format!(
                "in the end there are two rows of event {} of {id:?}",
                a.number
            );
            violations.add(Invariant::NoEventTwice, [a.line, b.line], sentence);
        } else if b.number > a.number + 1 {
            let sentence = format!(
                "in the end there is no event of {id:?} between {} and {}",
                a.number, b.number
            );
            violations.add(Invariant::NoGap, [a.line, b.line], sentence);
        }
    }
    if let Some(first) = rows.first().filter(|row| row.number > may_begin_after + 1) {
        let sentence = format!(
            "in the end the first event of {id:?} is {}, and events up to {may_begin_after} may be deleted",
            first.number
        );
        violations.add(Invariant::NothingLost, [first.line, dump], sentence);
    }
    let (known, known_line) = events.known.before(u64::MAX).unwrap_or_default();
    let (expected, proof) = events
        .head
        .map_or((known, known_line), |head| (head.highest, head.line));
    let last = rows.last().map_or(may_begin_after, |row| row.number);
    if last < expected {
        let sentence = format!("in the end the last event of {id:?} is {last} and not {expected}");
        violations.add(Invariant::NothingLost, [proof, dump], sentence);
    }
    if let Some(head) = events.head
        && last > head.highest
    {
        let highest = head.highest;
        let sentence = format!(
            "in the end the last event of {id:?} is {last}, and the highest number {highest}"
        );
        violations.add(Invariant::NoGap, [head.line, dump], sentence);
    }
    if let Some(last) = rows.last() {
        ends_with_batch(events, last.number, last.line, violations);
    }
}

fn snapshot_rows(events: &EventStream<'_>, dump: usize, violations: &mut Violations) {
    let id = events.id;
    let rows = &events.snapshot_rows;
    let known = events.known.up_to(u64::MAX);
    let highest = events.rows.iter().map(|row| row.number).max().unwrap_or(0);
    let highest = events.head.map_or(highest.max(known), |head| head.highest);
    for (number, digest, line) in rows {
        if *number > highest {
            let sentence = format!(
                "in the end there is a snapshot of event {number} of {id:?}, and the last event is {highest}"
            );
            violations.add(Invariant::SnapshotOfStored, [*line], sentence);
        }
        let mut saves = events.saves.iter();
        if !saves.any(|save| save.number == *number && save.digest == *digest) {
            let sentence = format!(
                "in the end there is a snapshot of event {number} of {id:?} that no one has saved so"
            );
            violations.add(Invariant::SnapshotWasSaved, [*line], sentence);
        }
    }
    let mut numbers: Vec<_> = rows.iter().map(|row| row.0).collect();
    numbers.sort_unstable();
    for save in events.saves.iter().filter(|save| save.done_at < u64::MAX) {
        let there = numbers.binary_search(&save.number).is_ok();
        let may_be_deleted = || {
            // Later deletes reach higher in most histories, so that the last one decides at once.
            let later = |deletion: &&SnapshotDeletion| deletion.done_at > save.from;
            let mut deletions = events.snapshot_deletions.iter().rev().filter(later);
            deletions
                .any(|deletion| (deletion.numbers.0..=deletion.numbers.1).contains(&save.number))
        };
        if !there && !may_be_deleted() {
            let sentence = format!(
                "the snapshot of event {} of {id:?} was stored, no one has deleted it, and in the end it is not there",
                save.number
            );
            violations.add(Invariant::NothingLost, [save.line, dump], sentence);
        }
    }
}
