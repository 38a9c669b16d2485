//! Snapshots are of what was stored, and those that are loaded were saved.

use std::collections::HashMap;

use crate::event_stream::{EventStream, Look};
use crate::violation::{Invariant, Violations};

pub(super) fn check(events: &EventStream<'_>, violations: &mut Violations) {
    of_what_was_stored(events, violations);
    let mut saves: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, save) in (0..).zip(&events.saves) {
        saves.entry(save.number).or_default().push(index);
    }
    for look in &events.looks {
        if look.recovered.snapshot.is_some() {
            was_saved(events, look, &saves, violations);
        }
    }
}

fn of_what_was_stored(events: &EventStream<'_>, violations: &mut Violations) {
    let recoveries = events
        .looks
        .iter()
        .filter_map(|look| Some((look.incarnation?, look)));
    let recoveries: HashMap<_, _> = recoveries.collect();
    for save in &events.saves {
        let Some(look) = recoveries.get(&save.incarnation) else {
            continue;
        };
        // Between what it recovered and the number of the snapshot stands what it has written itself, before.
        let recovered = look.recovered.highest;
        let last = events
            .at(save.number)
            .and_then(|placed| events.persist_of(placed.uid));
        let own = last.is_some_and(|(write, _)| {
            write.incarnation == Some(save.incarnation) && write.from <= save.from
        });
        if save.number > recovered && !own {
            let sentence = format!(
                "incarnation {} of {:?} recovered {recovered} events and saved a snapshot of event {}, which it has not stored",
                save.incarnation, events.id, save.number
            );
            violations.add(
                Invariant::SnapshotOfStored,
                [look.line, save.line],
                sentence,
            );
        }
    }
    for look in &events.looks {
        if look.snapshot() > look.recovered.highest {
            let sentence = format!(
                "a recovery of {:?} began with a snapshot of event {} and came to event {}",
                events.id,
                look.snapshot(),
                look.recovered.highest
            );
            violations.add(Invariant::SnapshotOfStored, [look.line], sentence);
        }
    }
}

fn was_saved(
    events: &EventStream<'_>,
    look: &Look<'_>,
    saves: &HashMap<u64, Vec<usize>>,
    violations: &mut Violations,
) {
    let number = look.snapshot();
    let of_number = saves.get(&number).into_iter().flatten();
    let mut deleted = None;
    for save in of_number.map(|index| &events.saves[*index]) {
        let digest = look.recovered.snapshot_digest;
        if save.from > look.until || digest.is_some_and(|digest| digest != save.digest) {
            continue;
        }
        let deletions = &events.snapshot_deletions;
        let after = deletions.partition_point(|deletion| deletion.from <= save.done_at);
        let until_look = deletions[after..]
            .iter()
            .take_while(|deletion| deletion.from < look.from);
        let mut gone = until_look.filter(|deletion| deletion.done_at < look.from);
        let gone =
            gone.find(|deletion| (deletion.numbers.0..=deletion.numbers.1).contains(&number));
        match gone {
            None => return,
            Some(gone) => deleted = Some((save, gone)),
        }
    }
    if let Some((save, gone)) = deleted {
        let sentence = format!(
            "a recovery of {:?} began with the snapshot of event {number}, which was deleted before",
            events.id
        );
        let lines = [save.line, gone.line, look.line];
        violations.add(Invariant::SnapshotWasSaved, lines, sentence);
    } else {
        let sentence = format!(
            "a recovery of {:?} began with a snapshot of event {number} that no one has saved so",
            events.id
        );
        violations.add(Invariant::SnapshotWasSaved, [look.line], sentence);
    }
}
