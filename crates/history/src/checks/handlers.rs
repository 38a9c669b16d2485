//! The check that the handlers of each incarnation run once per event, in order, and never after a failure.

use std::collections::HashMap;

use crate::Incarnation;
use crate::event_stream::{EventStream, HandlerRun, Outcome, Write};
use crate::violation::{Invariant, Violations};

/// The record of what one incarnation has done.
#[derive(Default)]
struct Life<'s, 'h> {
    recovered_to: Option<(u64, usize)>,
    runs: Vec<&'s HandlerRun>,
    persists: Vec<&'s Write<'h>>,
    ended: Option<(u64, usize)>,
}

pub(super) fn check(events: &EventStream<'_>, violations: &mut Violations) {
    let mut lives: HashMap<Incarnation, Life<'_, '_>> = HashMap::new();
    for run in &events.handled {
        lives.entry(run.incarnation).or_default().runs.push(run);
    }
    // An incarnation that never says that a handler ran does not record handlers.
    for write in &events.writes {
        if let Some(life) = write.incarnation.and_then(|it| lives.get_mut(&it)) {
            life.persists.push(write);
        }
    }
    for look in &events.looks {
        if let Some(life) = look.incarnation.and_then(|it| lives.get_mut(&it)) {
            life.recovered_to = Some((look.recovered.highest, look.line));
        }
    }
    for (incarnation, at, line) in &events.ended {
        if let Some(life) = lives.get_mut(incarnation) {
            life.ended = Some((*at, *line));
        }
    }
    for (incarnation, mut life) in lives {
        life.persists.sort_by_key(|write| (write.from, write.line));
        once_in_order(events, incarnation, &life, violations);
        all_that_was_stored(events, incarnation, &life, violations);
        nothing_after_failure(events, incarnation, &life, violations);
    }
}

fn once_in_order(
    events: &EventStream<'_>,
    incarnation: Incarnation,
    life: &Life<'_, '_>,
    violations: &mut Violations,
) {
    let id = events.id;
    let mut last = life.recovered_to;
    for run in &life.runs {
        if let Some((last, line)) = last
            && run.number != last + 1
        {
            let sentence = format!(
                "incarnation {incarnation} of {id:?} handled event {} after event {last}",
                run.number
            );
            violations.add(Invariant::HandlersOnceInOrder, [line, run.line], sentence);
        }
        last = Some((run.number, run.line));
        let own = events.persist_of(run.uid).map(|(write, _)| write);
        if own.is_none_or(|write| write.incarnation != Some(incarnation) || write.from > run.at) {
            let sentence = format!(
                "incarnation {incarnation} of {id:?} handled event {}, which it had not persisted",
                run.uid
            );
            violations.add(Invariant::HandlersOnceInOrder, [run.line], sentence);
        }
    }
}

/// Handlers run in the order of the calls, and before a call is answered.
fn all_that_was_stored(
    events: &EventStream<'_>,
    incarnation: Incarnation,
    life: &Life<'_, '_>,
    violations: &mut Violations,
) {
    let id = events.id;
    let mut runs = life.runs.iter().peekable();
    for write in &life.persists {
        for uid in write.uids {
            if let Some(run) = runs.next_if(|run| run.uid == *uid) {
                if run.at > write.stored_at {
                    let sentence =
                        format!("event {uid} of {id:?} was acknowledged before it was handled");
                    violations.add(
                        Invariant::HandlersOnceInOrder,
                        [write.answer_line, run.line],
                        sentence,
                    );
                }
            } else if matches!(write.outcome, Outcome::Stored(_)) {
                let sentence = format!(
                    "event {uid} of {id:?} was acknowledged, and incarnation {incarnation} handled it not, or not in its turn"
                );
                violations.add(
                    Invariant::HandlersOnceInOrder,
                    [write.line, write.answer_line],
                    sentence,
                );
                return;
            }
        }
    }
    if let Some(run) = runs.next() {
        let sentence = format!(
            "incarnation {incarnation} of {id:?} handled event {} out of its turn",
            run.uid
        );
        violations.add(Invariant::HandlersOnceInOrder, [run.line], sentence);
    }
}

fn nothing_after_failure(
    events: &EventStream<'_>,
    incarnation: Incarnation,
    life: &Life<'_, '_>,
    violations: &mut Violations,
) {
    let failures = life.persists.iter().filter_map(|write| {
        let failed = !matches!(write.outcome, Outcome::Stored(_)) && !write.rejected;
        Some((write.answered_at?, write.answer_line)).filter(|_| failed)
    });
    let Some((failed, line)) = failures.chain(life.ended).min() else {
        return;
    };
    if let Some(run) = life.runs.iter().find(|run| run.at > failed) {
        let sentence = format!(
            "incarnation {incarnation} of {:?} handled event {} after a write had failed, or after its end",
            events.id, run.number
        );
        violations.add(Invariant::StopsOnFailure, [line, run.line], sentence);
    }
}
