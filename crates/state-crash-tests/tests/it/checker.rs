//! Compares what the program told with the states and with what its change handler left; knows nothing of the program's
//! own code.

use std::collections::{BTreeMap, HashSet};

use crate::stored::{Stored, StoredMove, StoredState};
use crate::told::Acknowledged;

/// The moves of each parcel, by revision.
type Histories<'a> = BTreeMap<&'a str, Vec<&'a StoredMove>>;

/// Whether nothing is wrong; the first fault otherwise.
///
/// At any time every parcel has a move for each revision from 1 to that of its state, the last of which the state
/// shows; the counts are those of the states; and what was acknowledged is stored as it was told.
pub(crate) fn check(acknowledged: &[Acknowledged], stored: &Stored) -> Result<(), String> {
    let histories = histories(stored);
    for (parcel, history) in &histories {
        check_revisions(parcel, history)?;
    }
    check_states(stored, &histories)?;
    check_counts(stored)?;
    check_acknowledged(acknowledged, &histories)
}

fn histories(stored: &Stored) -> Histories<'_> {
    let mut histories = Histories::new();
    for noted in &stored.moves {
        histories.entry(&noted.parcel).or_default().push(noted);
    }
    for history in histories.values_mut() {
        history.sort_by_key(|noted| noted.revision);
    }
    histories
}

fn check_revisions(parcel: &str, history: &[&StoredMove]) -> Result<(), String> {
    for (expected, noted) in (1..).zip(history) {
        let found = noted.revision;
        if found < expected {
            return Err(format!("revision {found} of {parcel} was used twice"));
        }
        if found > expected {
            return Err(format!("revision {expected} of {parcel} was skipped"));
        }
    }
    Ok(())
}

fn check_states(stored: &Stored, histories: &Histories<'_>) -> Result<(), String> {
    let mut parcels = HashSet::new();
    for state in &stored.states {
        let parcel = &*state.parcel;
        if !parcels.insert(parcel) {
            return Err(format!("{parcel} has two states"));
        }
        check_state(state, histories.get(parcel).map_or(&[], Vec::as_slice))?;
    }
    match histories.keys().find(|parcel| !parcels.contains(**parcel)) {
        Some(parcel) => Err(format!("{parcel} was moved and has no state")),
        None => Ok(()),
    }
}

/// Whether a state is the one to which its moves lead.
fn check_state(state: &StoredState, history: &[&StoredMove]) -> Result<(), String> {
    let moved = history.last().map_or(0, |noted| noted.revision);
    if state.revision != moved {
        return Err(format!("{state:?} is not at its last move, {moved}"));
    }
    let back = history.iter().rev();
    let moves = back.take_while(|noted| noted.place.is_some()).count() as u64;
    let place = history.last().and_then(|noted| noted.place);
    let found = state.whereabouts.as_ref();
    let found = found.map(|whereabouts| (whereabouts.place, whereabouts.moves));
    if found != place.map(|place| (place, moves)) {
        return Err(format!("{state:?} is not what {moves} moves lead to"));
    }
    Ok(())
}

fn check_counts(stored: &Stored) -> Result<(), String> {
    let mut counts: BTreeMap<_, _> = stored.counts.keys().map(|place| (*place, 0)).collect();
    let states = stored.states.iter();
    for whereabouts in states.filter_map(|state| state.whereabouts.as_ref()) {
        *counts.entry(whereabouts.place).or_default() += 1;
    }
    if counts != stored.counts {
        let found = &stored.counts;
        return Err(format!("counted were {found:?}, the states say {counts:?}"));
    }
    Ok(())
}

fn check_acknowledged(
    acknowledged: &[Acknowledged],
    histories: &Histories<'_>,
) -> Result<(), String> {
    let mut told = HashSet::new();
    for move_told in acknowledged {
        let Acknowledged {
            parcel, revision, ..
        } = move_told;
        if !told.insert((parcel, revision)) {
            return Err(format!("revision {revision} of {parcel} was told twice"));
        }
        let mut history = histories.get(&**parcel).into_iter().flatten();
        match history.find(|noted| noted.revision == *revision) {
            None => return Err(format!("{move_told:?} was told and is lost")),
            Some(noted) if noted.place != move_told.place => {
                return Err(format!("{move_told:?} was told, but stored is {noted:?}"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

mod tests;
