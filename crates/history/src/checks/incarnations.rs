//! The check that nothing is stored on top of a state that missed an event.

use std::collections::HashMap;

use crate::Incarnation;
use crate::event_stream::{EventStream, Look, Outcome};
use crate::violation::{Invariant, Violations};

pub(super) fn check(events: &EventStream<'_>, violations: &mut Violations) {
    let recoveries = events
        .looks
        .iter()
        .filter_map(|look| Some((look.incarnation?, look)));
    let recoveries: HashMap<Incarnation, &Look<'_>> = recoveries.collect();
    nothing_unseen_below(events, &recoveries, violations);
    no_late_write(events, &recoveries, violations);
}

/// Checks that each event follows on one of its own incarnation, or on the last one that this has recovered.
fn nothing_unseen_below(
    events: &EventStream<'_>,
    recoveries: &HashMap<Incarnation, &Look<'_>>,
    violations: &mut Violations,
) {
    let mut before = None;
    for placed in &events.log {
        let writer = events
            .persist_of(placed.uid)
            .and_then(|(write, _)| write.incarnation);
        let known = before.replace((placed, writer));
        let Some((writer, look)) = writer.and_then(|it| Some((it, *recoveries.get(&it)?))) else {
            continue;
        };
        let recovered = look.recovered.highest;
        if placed.number <= recovered {
            let sentence = format!(
                "incarnation {writer} of {:?} recovered {recovered} events and stored event {} under number {}",
                events.id, placed.uid, placed.number
            );
            violations.add(
                Invariant::NothingUnseenBelow,
                [look.line, placed.line],
                sentence,
            );
        }
        let Some((below, Some(of))) = known else {
            continue;
        };
        if of != writer && below.number < placed.number && below.number > recovered {
            let sentence = format!(
                "incarnation {writer} of {:?} recovered {recovered} events and stored event {} on top of event {} of incarnation {of}, which it never saw",
                events.id, placed.number, below.number
            );
            let lines = [look.line, below.line, placed.line];
            violations.add(Invariant::NothingUnseenBelow, lines, sentence);
        }
    }
}

/// Checks that after a recovery that fenced, nothing is stored that was sent before and that it did not show.
///
/// Every recovery fences that follows, in the same process, on a write which is known to be of unknown outcome.
fn no_late_write(
    events: &EventStream<'_>,
    recoveries: &HashMap<Incarnation, &Look<'_>>,
    violations: &mut Violations,
) {
    let mut fences: Vec<_> = recoveries.values().filter(|look| look.fences).collect();
    fences.sort_unstable_by_key(|look| (look.from, look.line));
    let mut in_process: HashMap<u32, Vec<&Look<'_>>> = HashMap::new();
    for look in &events.looks {
        if look.incarnation.is_some() {
            in_process.entry(look.process).or_default().push(look);
        }
    }
    for placed in &events.log {
        let Some((write, _)) = events.persist_of(placed.uid) else {
            continue;
        };
        let own = |look: &Look<'_>| look.incarnation == write.incarnation;
        let next = fences.partition_point(|look| look.from <= write.from);
        let fence = fences
            .get(next)
            .map(|look| **look)
            .filter(|look| !own(look));
        let unknown = write
            .answered_at
            .filter(|_| write.outcome == Outcome::Unknown);
        let in_process = in_process
            .get(&write.process)
            .map_or(&[][..], Vec::as_slice);
        let later = unknown.and_then(|at| {
            let next = in_process.partition_point(|look| look.from <= at);
            in_process.get(next).copied()
        });
        for look in [fence, later].into_iter().flatten() {
            if placed.number > look.recovered.highest {
                let sentence = format!(
                    "event {} of {:?} was written before a recovery that came to {} and fenced, and was stored afterwards under number {}",
                    placed.uid, events.id, look.recovered.highest, placed.number
                );
                violations.add(
                    Invariant::NoLateWrite,
                    [write.line, look.line, placed.line],
                    sentence,
                );
            }
        }
    }
}
