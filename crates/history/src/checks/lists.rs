//! A query over states returns each state that it selects, once, and no other.

use std::collections::HashSet;

use crate::gathered::{Gathered, Listing};
use crate::state_stream::StateStream;
use crate::violation::{Invariant, Violations};

pub(super) fn check(gathered: &Gathered<'_>, violations: &mut Violations) {
    for listing in &gathered.listings {
        let (query, line) = (listing.query, listing.line);
        let mut given = HashSet::new();
        for entry in listing.entries {
            let id = entry.id.as_str();
            if !given.insert(id) {
                let sentence = format!("{query:?} gave {id:?} twice");
                violations.add(Invariant::QueriesExact, [line], sentence);
            }
            if !listing.selected.contains(id) {
                let sentence = format!("{query:?} gave {id:?}, which it does not select");
                violations.add(Invariant::QueriesExact, [line], sentence);
            }
        }
        for id in listing.selected.of_all(gathered.names()) {
            if given.contains(id) || gathered.was_reset(id) {
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

/// Returns the line that proves that there was a state from before the question until after the answer.
fn there_all_the_time(state: &StateStream<'_>, listing: &Listing<'_>) -> Option<usize> {
    let (known, line) = state.known.before(listing.from)?;
    let there = state.between(known, known).first()?;
    let deleted = state.first_delete_after(known);
    let stays = deleted.is_none_or(|deleted| deleted > listing.until);
    (stays && !state.changes[there.1].deletes).then_some(line)
}
