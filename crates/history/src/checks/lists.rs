//! A query over states gives each state that it selects, once, and no other.

use std::collections::HashSet;

use crate::gathered::{Gathered, Listing};
use crate::state_stream::{ChangeOutcome, StateStream};
use crate::violation::{Invariant, Violations};

pub(super) fn check(gathered: &Gathered<'_>, violations: &mut Violations) {
    for listing in &gathered.listings {
        let (query, line) = (listing.query, listing.line);
        let selected = listing
            .ids
            .map(|ids| ids.iter().map(String::as_str).collect::<HashSet<_>>());
        let mut given = HashSet::new();
        for entry in listing.entries {
            let id = entry.id.as_str();
            if !given.insert(id) {
                let sentence = format!("{query:?} gave {id:?} twice");
                violations.add(Invariant::QueriesExact, [line], sentence);
            }
            if selected
                .as_ref()
                .is_some_and(|selected| !selected.contains(id))
            {
                let sentence = format!("{query:?} gave {id:?}, which it does not select");
                violations.add(Invariant::QueriesExact, [line], sentence);
            }
        }
        for id in gathered.names() {
            let selects = selected
                .as_ref()
                .is_none_or(|selected| selected.contains(id));
            if !selects || given.contains(id) || gathered.was_reset(id) {
                continue;
            }
            let proof = gathered
                .last_state(id)
                .and_then(|state| there_all_the_time(state, listing));
            if let Some(proof) = proof {
                let sentence =
                    format!("{query:?} did not give {id:?}, which had a state all the time");
                violations.add(Invariant::QueriesExact, [proof, line], sentence);
            }
        }
    }
}

/// Gives the line that proves that there was a state from before the question until after the answer.
fn there_all_the_time(state: &StateStream<'_>, listing: &Listing<'_>) -> Option<usize> {
    let (known, line) = state.known.before(listing.from)?;
    let there = state.between(known, known).first()?;
    let stays = !state.changes[there.1].deletes;
    let mut deletes = state.changes.iter().filter(|change| change.deletes);
    let deleted = deletes.any(|delete| {
        let earlier = delete.outcome == ChangeOutcome::Stored
            && delete.revision.is_some_and(|revision| revision < known);
        delete.outcome != ChangeOutcome::Not && !earlier && delete.from <= listing.until
    });
    (stays && !deleted).then_some(line)
}
