//! Compares what the projections made with what was stored, read by plain SQL.

use std::collections::{BTreeMap, BTreeSet};

use actix_persistence::storage_api::PersistenceId;

use super::readers::Readers;
use crate::workers::projections::read_models::{AT_LEAST_ONCE, CHANGES, ONCE};
use crate::workers::projections::writing::has_tag;
use crate::workers::projections::{TALLIED, TALLY};
use crate::writers::id_of;
use crate::{Backend, Place, Run, block_on};

/// Reports whatever is missing, is there twice, or is out of order.
pub(super) fn judge(
    run: &Run,
    name: &str,
    place: &Place,
    parks: bool,
    readers: &Readers,
) -> anyhow::Result<()> {
    let id = id_of(place);
    let (name_column, item) = match place.backend() {
        Backend::Mysql => (
            "CONVERT(t.name USING utf8mb4)",
            "CONVERT(t.item USING utf8mb4)",
        ),
        _ => ("t.name", "t.item"),
    };
    let found = Found {
        stored: numbers_of(
            place,
            &format!(
                "SELECT {id}, t.sequence_nr FROM event_journal t WHERE t.persistence_id LIKE '{TALLY}|%'
                 ORDER BY 1, 2"
            ),
        )?,
        states: numbers_of(
            place,
            &format!(
                "SELECT {id}, t.revision FROM durable_state t WHERE t.persistence_id LIKE '{TALLIED}|%'"
            ),
        )?,
        once: numbers_of(place, &logged(id, "once_log"))?,
        counts: block_on(place.rows(&format!("SELECT {id}, t.n, t.last FROM once_count t")))?,
        least: block_on(place.rows(&format!(
            "SELECT {id}, t.nr, t.process, t.is_holder, t.was_stored FROM least_log t ORDER BY t.row_nr"
        )))?,
        changes: numbers_of(place, &logged(id, "change_log"))?,
        parks,
        skipped: block_on(
            place.rows(&format!("SELECT {name_column}, {item} FROM projection_skipped t")),
        )?,
    };
    run.add("items dropped", found.skipped.len() as u64);
    let events: usize = found.stored.values().map(Vec::len).sum();
    let tagged = found.stored.values().flatten().filter(|nr| has_tag(**nr));
    let repeats = found.least.len().saturating_sub(tagged.count());
    run.add("events projected", events as u64);
    run.add("repeats at least once", repeats as u64);
    run.add(
        "changes projected",
        found.changes.values().map(Vec::len).sum::<usize>() as u64,
    );
    let all = numbers_of(
        place,
        &format!("SELECT {id}, t.sequence_nr FROM event_journal t ORDER BY 1, 2"),
    )?;
    let (faults, shown) = readers.faults(&all);
    run.add("events shown to readers", shown as u64);
    for fault in found.faults().into_iter().chain(faults) {
        run.violation(format!("{name}: {fault}"));
    }
    if place.backend() != Backend::Memory && events == 0 {
        run.violation(format!("{name}: nothing was stored"));
    }
    Ok(())
}

fn logged(id: &str, table: &str) -> String {
    format!("SELECT {id}, t.nr FROM {table} t ORDER BY t.row_nr")
}

/// The numbers of each id, in the order of the rows.
type Numbers = BTreeMap<String, Vec<i64>>;

fn numbers_of(place: &Place, sql: &str) -> anyhow::Result<Numbers> {
    let rows: Vec<(String, i64)> = block_on(place.rows(sql))?;
    let mut numbers = Numbers::new();
    for (id, number) in rows {
        numbers.entry(id).or_default().push(number);
    }
    Ok(numbers)
}

/// The rows of a database in the end.
#[derive(Default)]
struct Found {
    stored: Numbers,
    states: Numbers,
    once: Numbers,
    counts: Vec<(String, i64, i64)>,
    /// Id, number, process, whether it had the share, whether the stored progress had the event.
    least: Vec<(String, i64, i64, i64, i64)>,
    changes: Numbers,
    /// True if ids were parked, so that items may have been dropped.
    parks: bool,
    /// The projection and the text of each item that was dropped.
    skipped: Vec<(String, String)>,
}

impl Found {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (id, numbers) in &self.stored {
            if let Some(what) = differs(numbers, &(1..=numbers.len() as i64).collect::<Vec<_>>()) {
                faults.push(format!("the events of {id:?} {what}"));
            }
        }
        self.check_once(&mut faults);
        self.check_least(&mut faults);
        self.check_changes(&mut faults);
        let mut skipped = BTreeSet::new();
        for item in &self.skipped {
            if !self.parks || !skipped.insert(item) {
                faults.push(format!("skipped: {item:?}"));
            }
        }
        faults
    }

    /// Returns whether an item of a projection was dropped.
    fn has_dropped(&self, projection: &str, what: &str, id: &str, nr: i64) -> bool {
        let item = format!("{what} {nr} of {:?}", PersistenceId::of_unique(id));
        let mut skipped = self.skipped.iter();
        skipped.any(|(of, text)| of == projection && *text == item)
    }

    /// Returns the numbers of the stored events of an id that a projection has not dropped.
    fn kept(&self, projection: &str, id: &str) -> Vec<i64> {
        let stored = numbers(&self.stored, id).iter().copied();
        stored
            .filter(|nr| !self.has_dropped(projection, "event", id, *nr))
            .collect()
    }

    /// Each event is logged once, in order, and counted once, unless it was dropped.
    fn check_once(&self, faults: &mut Vec<String>) {
        for id in self.stored.keys().chain(self.once.keys()) {
            if let Some(what) = differs(numbers(&self.once, id), &self.kept(ONCE, id)) {
                faults.push(format!("exactly once, {id:?} {what}"));
            }
        }
        let counted: BTreeMap<_, _> = self
            .counts
            .iter()
            .map(|(id, n, last)| (id, (*n, *last)))
            .collect();
        for id in self.stored.keys() {
            let kept = self.kept(ONCE, id);
            let expected = kept.last().map(|last| (kept.len() as i64, *last));
            if counted.get(id) != expected.as_ref() {
                let found = counted.get(id);
                faults.push(format!(
                    "{id:?} has {expected:?} events and is counted {found:?}"
                ));
            }
        }
    }

    /// Each event with the tag is logged, the first time in order, and again only as long as no stored progress has it: unless by one who
    /// was taken for dead.
    fn check_least(&self, faults: &mut Vec<String>) {
        let mut first = Numbers::new();
        for (id, nr, process, is_holder, was_stored) in &self.least {
            let of_id = first.entry(id.clone()).or_default();
            if of_id.last().is_none_or(|last| *nr > *last) {
                of_id.push(*nr);
            } else if !of_id.contains(nr) {
                faults.push(format!("at least once, {id:?} has {nr} after {of_id:?}"));
            }
            if *is_holder == 1 && *was_stored == 1 {
                faults.push(format!(
                    "process {process} handled event {nr} of {id:?} although its progress had it"
                ));
            }
        }
        for id in self.stored.keys().chain(first.keys()) {
            let mut kept = self.kept(AT_LEAST_ONCE, id);
            kept.retain(|nr| has_tag(*nr));
            // One that was dropped may have been handled before.
            let mut handled = numbers(&first, id).to_vec();
            handled.retain(|nr| !self.has_dropped(AT_LEAST_ONCE, "event", id, *nr));
            if let Some(what) = differs(&handled, &kept) {
                faults.push(format!("at least once, {id:?} {what}"));
            }
        }
    }

    /// The changes of each id come in the order of their revisions, each once, up to the last one.
    fn check_changes(&self, faults: &mut Vec<String>) {
        for (id, logged) in &self.changes {
            if !logged.windows(2).all(|two| two[0] < two[1]) {
                faults.push(format!("the changes of {id:?} come as {logged:?}"));
            }
        }
        for id in self.states.keys().chain(self.changes.keys()) {
            let (stored, logged) = (numbers(&self.states, id), numbers(&self.changes, id));
            let is_dropped = stored
                .last()
                .is_some_and(|last| self.has_dropped(CHANGES, "revision", id, *last));
            if stored.last() != logged.last() && !is_dropped {
                let (stored, logged) = (stored.last(), logged.last());
                faults.push(format!(
                    "the last change of {id:?} is {stored:?}, and the last one projected {logged:?}"
                ));
            }
        }
    }
}

fn numbers<'n>(of: &'n Numbers, id: &str) -> &'n [i64] {
    of.get(id).map_or(&[], Vec::as_slice)
}

/// Says how the numbers of an id differ from those that are right; `None` if they do not.
fn differs(found: &[i64], right: &[i64]) -> Option<String> {
    if found == right {
        return None;
    }
    let place = found.iter().zip(right).take_while(|(f, r)| f == r).count();
    Some(match (found.get(place), right.get(place)) {
        (Some(found), Some(right)) => format!("has {found} in the place of {right}"),
        (Some(found), None) => format!("has {found} after its last one"),
        _ => format!("ends with {:?} of {}", found.last(), right.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is right: six events and one state.
    fn right() -> Found {
        let of = |numbers: &[i64]| Numbers::from([("a".to_owned(), numbers.to_vec())]);
        Found {
            stored: of(&[1, 2, 3, 4, 5, 6]),
            states: of(&[2]),
            once: of(&[1, 2, 3, 4, 5, 6]),
            counts: vec![("a".to_owned(), 6, 6)],
            least: least(&[(3, 1, 0), (6, 1, 0), (3, 1, 0), (6, 0, 1)]),
            changes: of(&[1, 2]),
            parks: false,
            skipped: Vec::new(),
        }
    }

    fn least(rows: &[(i64, i64, i64)]) -> Vec<(String, i64, i64, i64, i64)> {
        let row = |(nr, is_holder, was_stored): &(i64, i64, i64)| {
            ("a".to_owned(), *nr, 7, *is_holder, *was_stored)
        };
        rows.iter().map(row).collect()
    }

    fn is_found(change: impl FnOnce(&mut Found)) {
        let mut found = right();
        change(&mut found);
        assert!(!found.faults().is_empty());
    }

    #[test]
    fn what_is_right_is_found_right_and_nothing_else() {
        assert_eq!(right().faults(), [""; 0]);
        let logs: [&[i64]; 4] = [
            &[1, 2, 3, 4, 5],
            &[1, 2, 3, 5, 6],
            &[1, 2, 3, 4, 6, 5],
            &[1, 1, 2, 3, 4, 5, 6],
        ];
        for log in logs {
            is_found(|found| found.once = Numbers::from([("a".to_owned(), log.to_vec())]));
        }
        is_found(|found| found.once.clear());
        is_found(|found| found.counts[0].1 = 7);
        is_found(|found| found.counts.clear());
        is_found(|found| found.least.clear());
        is_found(|found| found.least = least(&[(3, 1, 0)]));
        is_found(|found| found.least = least(&[(6, 1, 0), (3, 1, 0)]));
        is_found(|found| found.least = least(&[(3, 1, 0), (6, 1, 0), (6, 1, 1)]));
        is_found(|found| found.skipped = dropped(&[(ONCE, "event 6")]));
        let changes: [&[i64]; 4] = [&[1], &[2, 2], &[2, 1], &[1, 2, 3]];
        for log in changes {
            is_found(|found| found.changes = Numbers::from([("a".to_owned(), log.to_vec())]));
        }
        is_found(|found| found.changes.clear());
    }

    fn dropped(items: &[(&str, &str)]) -> Vec<(String, String)> {
        let item = |(of, text): &(&str, &str)| ((*of).to_owned(), format!("{text} of \"a\""));
        items.iter().map(item).collect()
    }

    #[test]
    fn what_was_dropped_is_missing_and_listed_once() {
        let of = |numbers: &[i64]| Numbers::from([("a".to_owned(), numbers.to_vec())]);
        let items = [
            (ONCE, "event 6"),
            (AT_LEAST_ONCE, "event 3"),
            (CHANGES, "revision 2"),
        ];
        let found = || {
            let mut found = right();
            found.parks = true;
            found.skipped = dropped(&items);
            found.once = of(&[1, 2, 3, 4, 5]);
            found.counts[0] = ("a".to_owned(), 5, 5);
            found.changes = of(&[1]);
            found
        };
        assert_eq!(found().faults(), [""; 0]);
        let mut twice = found();
        twice.skipped.push(twice.skipped[0].clone());
        assert!(!twice.faults().is_empty());
        let mut handled = found();
        handled.once = of(&[1, 2, 3, 4, 5, 6]);
        assert!(!handled.faults().is_empty());
    }
}
