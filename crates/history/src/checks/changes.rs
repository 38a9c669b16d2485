//! The rows of a change handler are there exactly for the changes that are stored.

use crate::gathered::Gathered;
use crate::state_stream::{ChangeRow, StateStream};
use crate::violation::{Invariant, Violations};

pub(super) fn check(gathered: &Gathered<'_>, violations: &mut Violations) {
    for (table, prefix, dump) in &gathered.dumped.changes {
        let names = gathered.names().filter(|name| name.starts_with(prefix));
        for state in names.filter_map(|name| gathered.last_state(name)) {
            // Rows of earlier lives have the same revisions.
            if !gathered.was_reset(state.id) {
                let final_row = gathered.dumped.states.is_some();
                of_state(state, table, *dump, final_row, violations);
            }
        }
    }
}

fn of_state(
    state: &StateStream<'_>,
    table: &str,
    dump: usize,
    final_row: bool,
    violations: &mut Violations,
) {
    let id = state.id;
    let mut rows: Vec<&ChangeRow<'_>> =
        state.rows.iter().filter(|row| row.table == table).collect();
    rows.sort_unstable_by_key(|row| (row.revision, row.line));
    for pair in rows.windows(2) {
        if pair[0].revision == pair[1].revision {
            let sentence = format!(
                "there are two rows in {table} for revision {} of {id:?}",
                pair[0].revision
            );
            let lines = [pair[0].line, pair[1].line];
            violations.add(Invariant::ChangesWithTheirRows, lines, sentence);
        }
    }
    let stored = state.seen.iter().find(|seen| seen.from == u64::MAX);
    let stored = stored.map(|seen| (seen.revision, seen.line));
    let (known, known_line) = state.known.before(u64::MAX).unwrap_or_default();
    let (highest, proof) = stored.unwrap_or((known, known_line));
    if let Some(beyond) = rows
        .last()
        .filter(|row| final_row && row.revision > highest)
    {
        let sentence = format!(
            "there is a row in {table} for revision {} of {id:?}, and the last that is stored is {highest}",
            beyond.revision
        );
        violations.add(
            Invariant::ChangesWithTheirRows,
            [beyond.line, proof.max(1)],
            sentence,
        );
    }
    let mut due = 1;
    for row in rows.iter().filter(|row| row.revision > 0) {
        if row.revision > due {
            missing(state, table, due, dump, row.line, violations);
        }
        due = row.revision + 1;
    }
    if due <= highest {
        missing(state, table, due, dump, proof, violations);
    }
    for row in rows {
        let other = state.between(row.revision, row.revision).iter();
        let mut other = other.map(|entry| &state.changes[entry.1]);
        if let Some(change) = other.find(|change| row.uid.is_some_and(|uid| change.uid != uid)) {
            let sentence = format!(
                "the row in {table} for revision {} of {id:?} is not of the change {}",
                row.revision, change.uid
            );
            let lines = [row.line, change.answer_line];
            violations.add(Invariant::ChangesWithTheirRows, lines, sentence);
        }
    }
}

fn missing(
    state: &StateStream<'_>,
    table: &str,
    revision: u64,
    dump: usize,
    proof: usize,
    violations: &mut Violations,
) {
    let sentence = format!(
        "there is no row in {table} for revision {revision} of {:?}, which is stored",
        state.id
    );
    violations.add(Invariant::ChangesWithTheirRows, [dump, proof], sentence);
}
