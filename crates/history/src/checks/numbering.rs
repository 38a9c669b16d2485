//! Numbers and events belong to each other one to one, and events to the id they were written to.

use std::collections::HashMap;

use crate::event_stream::EventStream;
use crate::gathered::Gathered;
use crate::violation::{Invariant, Violations};

pub(super) fn check(events: &EventStream<'_>, violations: &mut Violations) {
    let id = events.id;
    for pair in events.log.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        if a.number == b.number {
            let sentence = format!(
                "number {} of {id:?} belongs to the events {} and {}",
                a.number, a.uid, b.uid
            );
            violations.add(Invariant::NoNumberTwice, [a.line, b.line], sentence);
        }
    }
    if let Some(zero) = events.at(0) {
        let sentence = format!("event {} of {id:?} has the number 0", zero.uid);
        violations.add(Invariant::NoGap, [zero.line], sentence);
    }
    let mut by_uid: Vec<_> = events
        .log
        .iter()
        .map(|placed| (placed.uid, *placed))
        .collect();
    by_uid.sort_unstable();
    for pair in by_uid.windows(2) {
        let [a, b] = [pair[0].1, pair[1].1];
        if a.uid == b.uid {
            let sentence = format!(
                "event {} of {id:?} is stored under the numbers {} and {}",
                a.uid, a.number, b.number
            );
            violations.add(Invariant::NoEventTwice, [a.line, b.line], sentence);
        }
    }
    let persists =
        |entry: &&(crate::Uid, usize, usize)| events.writes[entry.1].incarnation.is_some();
    let persisted: Vec<_> = events.by_uid.iter().filter(persists).collect();
    for pair in persisted.windows(2) {
        if pair[0].0 == pair[1].0 {
            let lines = [events.writes[pair[0].1].line, events.writes[pair[1].1].line];
            let sentence = format!("event {} of {id:?} was persisted twice", pair[0].0);
            violations.add(Invariant::WellFormed, lines, sentence);
        }
    }
}

/// Every event that an id shows was written to it, in this life.
pub(super) fn check_owners(gathered: &Gathered<'_>, violations: &mut Violations) {
    let mut strangers = Vec::new();
    for events in gathered.events() {
        for placed in &events.log {
            let between = gathered.between_lives.get(&placed.uid) == Some(&events.id);
            if events.writes_of(placed.uid).next().is_none() && !between {
                strangers.push((events, placed));
            }
        }
    }
    if strangers.is_empty() {
        return;
    }
    let all = gathered.events().flat_map(|events| {
        let of_stream = move |entry: &(crate::Uid, usize, usize)| (entry.0, (events, entry.1));
        events.by_uid.iter().map(of_stream)
    });
    let owners: HashMap<_, _> = all.collect();
    for (events, placed) in strangers {
        let (id, uid) = (events.id, placed.uid);
        let Some((owner, write)) = owners.get(&uid) else {
            let sentence = format!("event {uid}, which nobody wrote, is among those of {id:?}");
            violations.add(Invariant::NothingOfOthers, [placed.line], sentence);
            continue;
        };
        let lines = [placed.line, owner.writes[*write].line];
        if owner.id == id {
            let (life, written) = (events.life, owner.life);
            let sentence = format!(
                "event {uid} of {id:?} was written after {written} resets and seen after {life}"
            );
            violations.add(Invariant::DeletesAsAsked, lines, sentence);
        } else {
            let sentence = format!("event {uid} of {:?} is among those of {id:?}", owner.id);
            violations.add(Invariant::NothingOfOthers, lines, sentence);
        }
    }
}
