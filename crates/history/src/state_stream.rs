//! The changes of one id's state as a history shows them, between two resets.

use crate::rising::Rising;
use crate::{Incarnation, Uid};

/// An `Upsert` or a `DeleteState`.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) from: u64,
    /// The time at which it was known to be stored: `u64::MAX` unless it is acknowledged.
    pub(crate) stored_at: u64,
    pub(crate) line: usize,
    pub(crate) answer_line: usize,
    pub(crate) incarnation: Incarnation,
    pub(crate) uid: Uid,
    pub(crate) deletes: bool,
    /// The revision that it got or asked for.
    pub(crate) revision: Option<u64>,
    pub(crate) outcome: ChangeOutcome,
}

/// The outcome of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeOutcome {
    Stored,
    Not,
    Unknown,
}

/// A state as somebody saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) line: usize,
    pub(crate) revision: u64,
    /// `None` if it was deleted.
    pub(crate) uid: Option<Uid>,
    /// The life that begins with it.
    pub(crate) incarnation: Option<Incarnation>,
    /// True if it was the present state then; a reader may see an older one.
    pub(crate) present: bool,
}

/// A row of a change handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeRow<'h> {
    pub(crate) table: &'h str,
    pub(crate) revision: u64,
    pub(crate) uid: Option<Uid>,
    pub(crate) line: usize,
}

/// The changes of one id's state as a history shows them, between two resets.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateStream<'h> {
    pub(crate) id: &'h str,
    pub(crate) life: usize,
    pub(crate) last_life: bool,
    pub(crate) changes: Vec<Change>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) rows: Vec<ChangeRow<'h>>,

    // From here on derived by `settle`.
    /// The changes whose revision is known, by revision; also from what was seen of unknown ones.
    pub(crate) revisions: Vec<(u64, usize)>,
    /// The time at which the first delete from each of `revisions` on was asked for.
    pub(crate) deletes_from: Vec<u64>,
    /// The time at which the first delete of unknown outcome was asked for.
    pub(crate) unknown_delete: Option<u64>,
    /// The change of every uid.
    pub(crate) by_uid: Vec<(Uid, usize)>,
    /// The highest revision that was known to be stored.
    pub(crate) known: Rising,
}

impl StateStream<'_> {
    /// Derives what follows from what was gathered.
    pub(crate) fn settle(&mut self) {
        self.by_uid = (0..)
            .zip(&self.changes)
            .map(|(index, change)| (change.uid, index))
            .collect();
        self.by_uid.sort_unstable();
        self.seen.sort_by_key(|seen| (seen.from, seen.line));
        let stored = (0..)
            .zip(&self.changes)
            .filter(|(_, change)| change.outcome == ChangeOutcome::Stored);
        let mut revisions: Vec<_> = stored
            .filter_map(|(index, change)| Some((change.revision?, index)))
            .collect();
        let sightings = self.seen.iter().map(|seen| (seen.revision, seen.uid));
        let rows = self.rows.iter().map(|row| (row.revision, row.uid));
        for (revision, uid) in sightings.chain(rows) {
            let change = uid.and_then(|uid| self.change_of(uid));
            revisions.extend(change.map(|index| (revision, index)));
        }
        revisions.sort_unstable();
        revisions.dedup();
        self.revisions = revisions;
        let mut first = u64::MAX;
        let deletes_from = self.revisions.iter().rev().map(|entry| {
            let change = &self.changes[entry.1];
            first = if change.deletes {
                first.min(change.from)
            } else {
                first
            };
            first
        });
        self.deletes_from = deletes_from.collect();
        self.deletes_from.reverse();
        let unknown = self
            .changes
            .iter()
            .filter(|change| change.deletes && change.outcome == ChangeOutcome::Unknown);
        self.unknown_delete = unknown.map(|change| change.from).min();
        for change in &self.changes {
            if let (ChangeOutcome::Stored, Some(revision)) = (change.outcome, change.revision) {
                self.known
                    .add(change.stored_at, revision, change.answer_line);
            }
        }
        for seen in &self.seen {
            self.known.add(seen.until, seen.revision, seen.line);
        }
        self.known.settle();
    }

    /// Returns the change that stored this.
    pub(crate) fn change_of(&self, uid: Uid) -> Option<usize> {
        let found = self.by_uid.binary_search_by_key(&uid, |entry| entry.0);
        found.ok().map(|place| self.by_uid[place].1)
    }

    /// Returns the time at which the first delete was asked for that may have come after this revision.
    pub(crate) fn first_delete_after(&self, revision: u64) -> Option<u64> {
        let next = self.revisions.partition_point(|entry| entry.0 <= revision);
        let stored = self.deletes_from.get(next).copied();
        stored.into_iter().chain(self.unknown_delete).min()
    }

    /// Returns the changes with revisions of this range.
    pub(crate) fn between(&self, from: u64, to: u64) -> &[(u64, usize)] {
        let first = self.revisions.partition_point(|entry| entry.0 < from);
        let after = self.revisions.partition_point(|entry| entry.0 <= to);
        &self.revisions[first..after.max(first)]
    }
}
