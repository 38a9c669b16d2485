//! The invariants, a family of them per file.

mod batches;
mod changes;
mod deletes;
mod handlers;
mod incarnations;
mod lists;
mod looks;
mod numbering;
mod order;
mod readers;
mod refused;
mod rows;
mod snapshots;
mod state_of_events;
mod states;

use crate::History;
use crate::gathered::Gathered;
use crate::violation::{Violation, Violations};

/// Returns every violation that the history shows, the first lines first; none if it is as promised.
///
/// Takes time in proportion to n log n of the records and of what they list.
pub fn check(history: &History) -> Vec<Violation> {
    let mut violations = Violations::default();
    let gathered = Gathered::new(history, &mut violations);
    for events in gathered.events() {
        numbering::check(events, &mut violations);
        looks::check(events, &mut violations);
        batches::check(events, &mut violations);
        refused::check(events, &mut violations);
        handlers::check(events, &mut violations);
        incarnations::check(events, &mut violations);
        order::check(events, &mut violations);
        deletes::check(events, &mut violations);
        snapshots::check(events, &mut violations);
        state_of_events::check(events, &mut violations);
    }
    numbering::check_owners(&gathered, &mut violations);
    rows::check(&gathered, &mut violations);
    for state in gathered.states() {
        states::check(state, &gathered, &mut violations);
    }
    changes::check(&gathered, &mut violations);
    readers::check(&gathered, &mut violations);
    lists::check(&gathered, &mut violations);
    let mut violations = violations.0;
    violations.sort_by(|a, b| (&a.lines, a.invariant).cmp(&(&b.lines, b.invariant)));
    violations
}
