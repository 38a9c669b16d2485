//! States: one change per revision, each on top of what its writer knew, and none ever goes back.

use std::collections::HashMap;

use crate::gathered::Gathered;
use crate::state_stream::{Change, ChangeOutcome, Seen, StateStream};
use crate::violation::{Invariant, Violations};
use crate::{Incarnation, Uid};

pub(super) fn check(state: &StateStream<'_>, gathered: &Gathered<'_>, violations: &mut Violations) {
    one_change_per_revision(state, violations);
    no_gap(state, violations);
    for seen in &state.seen {
        was_written(state, gathered, seen.uid, seen.line, violations);
        never_back(state, seen, violations);
        deleted_is_deleted(state, seen, violations);
    }
    for row in &state.rows {
        was_written(state, gathered, row.uid, row.line, violations);
    }
    in_order(state, violations);
    no_lost_update(state, violations);
    let there = state.seen.iter().any(|seen| seen.from == u64::MAX);
    if let Some(dump) = gathered.dumped.states.filter(|_| state.last_life && !there)
        && let Some((known, line)) = state.known.before(u64::MAX)
    {
        let sentence = format!(
            "revision {known} of {:?} was known to be stored, and in the end there is no row of it",
            state.id
        );
        violations.add(Invariant::NothingLost, [line, dump], sentence);
    }
}

fn one_change_per_revision(state: &StateStream<'_>, violations: &mut Violations) {
    let change = |entry: &(u64, usize)| &state.changes[entry.1];
    for pair in state.revisions.windows(2) {
        if pair[0].0 == pair[1].0 {
            let (a, b) = (change(&pair[0]), change(&pair[1]));
            let sentence = format!(
                "revision {} of {:?} belongs to the changes {} and {}",
                pair[0].0, state.id, a.uid, b.uid
            );
            let lines = [a.answer_line, b.answer_line];
            violations.add(Invariant::OneChangePerRevision, lines, sentence);
        }
    }
    let mut by_change: Vec<_> = state
        .revisions
        .iter()
        .map(|entry| (entry.1, entry.0))
        .collect();
    by_change.sort_unstable();
    for pair in by_change.windows(2) {
        if pair[0].0 == pair[1].0 {
            let change = &state.changes[pair[0].0];
            let sentence = format!(
                "change {} of {:?} is seen at the revisions {} and {}",
                change.uid, state.id, pair[0].1, pair[1].1
            );
            let lines = [change.line, change.answer_line];
            violations.add(Invariant::OneChangePerRevision, lines, sentence);
        }
    }
    for (revision, index) in &state.revisions {
        let change = &state.changes[*index];
        if *revision == 0 || change.revision.is_some_and(|asked| asked != *revision) {
            let sentence = format!(
                "change {} of {:?} is seen at revision {revision}, which is not what it was to get",
                change.uid, state.id
            );
            let lines = [change.line, change.answer_line];
            violations.add(Invariant::OneChangePerRevision, lines, sentence);
        }
    }
}

/// Checks that for each revision up to the highest there is a change that may have made it.
fn no_gap(state: &StateStream<'_>, violations: &mut Violations) {
    let of_changes = state.revisions.last().map_or(0, |entry| entry.0);
    let seen = state
        .seen
        .iter()
        .map(|seen| (seen.revision, seen.line))
        .max();
    let (of_seen, line) = seen.unwrap_or_default();
    let highest = of_changes.max(of_seen);
    let mut known: Vec<_> = state.revisions.iter().map(|entry| entry.0).collect();
    known.dedup();
    let mut placed: Vec<_> = state.revisions.iter().map(|entry| entry.1).collect();
    placed.sort_unstable();
    let unknown = (0..).zip(&state.changes).filter(|(index, change)| {
        change.outcome == ChangeOutcome::Unknown && placed.binary_search(index).is_err()
    });
    let mut anywhere = 0;
    let mut somewhere = Vec::new();
    for (_, change) in unknown {
        match change.revision {
            None => anywhere += 1,
            Some(revision) => somewhere.push(revision),
        }
    }
    somewhere.retain(|revision| *revision <= highest && known.binary_search(revision).is_err());
    somewhere.sort_unstable();
    somewhere.dedup();
    let missing = highest.saturating_sub(known.len() as u64);
    if missing > anywhere + somewhere.len() as u64 {
        let last = state
            .revisions
            .last()
            .map(|entry| state.changes[entry.1].answer_line);
        let sentence = format!(
            "{:?} came to revision {highest}, and {missing} of these revisions belong to no change that may be stored",
            state.id
        );
        let lines = [line.max(last.unwrap_or(0))];
        violations.add(Invariant::OneChangePerRevision, lines, sentence);
    }
}

/// Checks that a state that is seen was written to this id, and not refused.
fn was_written(
    state: &StateStream<'_>,
    gathered: &Gathered<'_>,
    uid: Option<Uid>,
    line: usize,
    violations: &mut Violations,
) {
    let Some(uid) = uid else {
        return;
    };
    let Some(change) = state.change_of(uid).map(|index| &state.changes[index]) else {
        if gathered.between_lives.get(&uid) != Some(&state.id) {
            let sentence = format!(
                "state {uid} is seen under {:?}, to which no one wrote it",
                state.id
            );
            violations.add(Invariant::NothingOfOthers, [line], sentence);
        }
        return;
    };
    if change.outcome == ChangeOutcome::Not {
        let sentence = format!(
            "state {uid} of {:?} was said not to be stored, and is seen",
            state.id
        );
        let lines = [change.line, change.answer_line, line];
        violations.add(Invariant::RefusedNeverStored, lines, sentence);
    }
}

fn never_back(state: &StateStream<'_>, seen: &Seen, violations: &mut Violations) {
    let known = state.known.before(seen.from).filter(|_| seen.present);
    if let Some((known, line)) = known
        && seen.revision < known
    {
        let sentence = format!(
            "revision {known} of {:?} was known to be stored, and later revision {} is seen",
            state.id, seen.revision
        );
        violations.add(Invariant::StatesNeverGoBack, [line, seen.line], sentence);
    }
}

/// A state that is seen deleted was deleted at that revision, and one that is seen was not.
fn deleted_is_deleted(state: &StateStream<'_>, seen: &Seen, violations: &mut Violations) {
    if seen.revision == 0 {
        if let Some(uid) = seen.uid {
            let sentence = format!("state {uid} of {:?} is seen without a revision", state.id);
            violations.add(Invariant::OneChangePerRevision, [seen.line], sentence);
        }
        return;
    }
    let at = state.between(seen.revision, seen.revision);
    let changes: Vec<&Change> = at.iter().map(|entry| &state.changes[entry.1]).collect();
    let possible = |change: &Change| {
        change.deletes
            && change.outcome == ChangeOutcome::Unknown
            && change
                .revision
                .is_none_or(|revision| revision == seen.revision)
    };
    match seen.uid {
        None if changes.iter().any(|change| change.deletes) => {}
        None if changes.is_empty() && state.changes.iter().any(possible) => {}
        None => {
            let proof = changes
                .first()
                .map_or(seen.line, |change| change.answer_line);
            let sentence = format!(
                "revision {} of {:?} is seen deleted, and no one has deleted it",
                seen.revision, state.id
            );
            violations.add(Invariant::DeletesAsAsked, [proof, seen.line], sentence);
        }
        Some(uid) => {
            let own = changes
                .iter()
                .find(|change| change.uid == uid && change.deletes);
            if let Some(delete) = own {
                let sentence = format!("the delete {uid} of {:?} is seen as a state", state.id);
                let lines = [delete.line, seen.line];
                violations.add(Invariant::StatesNeverGoBack, lines, sentence);
            }
        }
    }
}

/// Checks that a write that begins after another was acknowledged gets a higher revision.
fn in_order(state: &StateStream<'_>, violations: &mut Violations) {
    let mut above = (u64::MAX, 0, 0);
    for (revision, index) in state.revisions.iter().rev() {
        let change = &state.changes[*index];
        if change.from > above.0 {
            let sentence = format!(
                "revision {revision} of {:?} was written after revision {} was acknowledged",
                state.id, above.1
            );
            violations.add(Invariant::OrderOfWrites, [change.line, above.2], sentence);
        }
        above = above.min((change.stored_at, *revision, change.answer_line));
    }
}

/// A change follows on one of its own incarnation, or on the revision that this has loaded last.
fn no_lost_update(state: &StateStream<'_>, violations: &mut Violations) {
    let mut loads: HashMap<Incarnation, Vec<&Seen>> = HashMap::new();
    for seen in &state.seen {
        if let Some(incarnation) = seen.incarnation {
            loads.entry(incarnation).or_default().push(seen);
        }
    }
    let mut before: Option<(u64, usize)> = None;
    for entry in &state.revisions {
        let (revision, change) = (entry.0, &state.changes[entry.1]);
        let below = before.replace(*entry);
        let of_incarnation = loads
            .get(&change.incarnation)
            .map_or(&[][..], Vec::as_slice);
        let next = of_incarnation.partition_point(|seen| seen.from < change.from);
        let Some(load) = next.checked_sub(1).map(|last| of_incarnation[last]) else {
            continue;
        };
        let missed = below.filter(|below| {
            let other = &state.changes[below.1];
            below.0 < revision && below.0 > load.revision && other.incarnation != change.incarnation
        });
        if revision <= load.revision || missed.is_some() {
            let sentence = format!(
                "incarnation {} of {:?} loaded revision {} and stored revision {revision}, without what is between them",
                change.incarnation, state.id, load.revision
            );
            let lines = [load.line, change.line, change.answer_line];
            violations.add(Invariant::NoLostUpdate, lines, sentence);
        }
    }
}
