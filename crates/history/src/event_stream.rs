//! The events of one id as a history shows them, between two resets.

use crate::answer::Recovered;
use crate::rising::Rising;
use crate::{Incarnation, Uid};

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Stored, the first event under this number.
    Stored(u64),
    /// The events are certainly not stored.
    Not,
    Unknown,
}

/// A `Persist` or an `Ask`.
#[derive(Clone, Debug)]
pub(crate) struct Write<'h> {
    pub(crate) process: u32,
    pub(crate) from: u64,
    /// The time at which it was known to be stored: `u64::MAX` unless it is acknowledged.
    pub(crate) stored_at: u64,
    /// The time at which it was answered, whatever the answer was.
    pub(crate) answered_at: Option<u64>,
    pub(crate) line: usize,
    pub(crate) answer_line: usize,
    /// The incarnation that wrote, if the write was a `Persist`.
    pub(crate) incarnation: Option<Incarnation>,
    /// The sender of the command, if the write was an `Ask`.
    pub(crate) sender: Option<u64>,
    pub(crate) uids: &'h [Uid],
    pub(crate) outcome: Outcome,
    /// True if the write was rejected, so that the actor goes on.
    pub(crate) rejected: bool,
}

/// A recovery or a replay that succeeded.
#[derive(Clone, Debug)]
pub(crate) struct Look<'h> {
    pub(crate) process: u32,
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) line: usize,
    /// `None` of a replay.
    pub(crate) incarnation: Option<Incarnation>,
    pub(crate) fences: bool,
    pub(crate) recovered: &'h Recovered,
}

impl Look<'_> {
    /// The number up to which the state of the snapshot stands.
    pub(crate) fn snapshot(&self) -> u64 {
        self.recovered.snapshot.unwrap_or(0)
    }
}

/// A delete of events that may have happened.
#[derive(Clone, Debug)]
pub(crate) struct Deletion {
    pub(crate) from: u64,
    /// `u64::MAX` unless it was acknowledged.
    pub(crate) done_at: u64,
    pub(crate) line: usize,
    pub(crate) to: u64,
    pub(crate) covered: bool,
    /// True if it was asked in this life, and not in one before.
    pub(crate) asked_here: bool,
}

/// A save of a snapshot that may have happened.
#[derive(Clone, Debug)]
pub(crate) struct Save {
    pub(crate) from: u64,
    /// `u64::MAX` unless it was acknowledged.
    pub(crate) done_at: u64,
    pub(crate) line: usize,
    pub(crate) incarnation: Incarnation,
    pub(crate) number: u64,
    pub(crate) digest: u64,
    /// True if it was asked in this life, and not in one before.
    pub(crate) asked_here: bool,
}

/// A delete of snapshots that may have happened.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotDeletion {
    pub(crate) from: u64,
    /// `u64::MAX` unless it was acknowledged.
    pub(crate) done_at: u64,
    pub(crate) line: usize,
    pub(crate) numbers: (u64, u64),
}

/// A handler that ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandlerRun {
    pub(crate) incarnation: Incarnation,
    pub(crate) at: u64,
    pub(crate) line: usize,
    pub(crate) number: u64,
    pub(crate) uid: Uid,
}

/// An event under a number, as an actor or a reader saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placed {
    pub(crate) number: u64,
    pub(crate) uid: Uid,
    pub(crate) line: usize,
}

/// The numbers at which an id stood in the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) highest: u64,
    pub(crate) deleted_to: u64,
    pub(crate) line: usize,
}

/// The events of one id as a history shows them, between two resets.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventStream<'h> {
    pub(crate) id: &'h str,
    pub(crate) life: usize,
    pub(crate) writes: Vec<Write<'h>>,
    pub(crate) looks: Vec<Look<'h>>,
    pub(crate) deletions: Vec<Deletion>,
    pub(crate) saves: Vec<Save>,
    pub(crate) snapshot_deletions: Vec<SnapshotDeletion>,
    pub(crate) handled: Vec<HandlerRun>,
    pub(crate) ended: Vec<(Incarnation, u64, usize)>,
    /// The events that readers were shown: asked at, shown at, and the event.
    pub(crate) shown: Vec<(u64, u64, Placed)>,
    /// Rows of the end.
    pub(crate) rows: Vec<Placed>,
    pub(crate) head: Option<Head>,
    pub(crate) snapshot_rows: Vec<(u64, u64, usize)>,

    // From here on derived by `settle`.
    /// The write and the place in it of every event that was to be stored.
    pub(crate) by_uid: Vec<(Uid, usize, usize)>,
    /// Every event with its number, by number; the first who saw it proves it. Contradictions stay.
    pub(crate) log: Vec<Placed>,
    /// The highest number that was known to be stored.
    pub(crate) known: Rising,
    /// The number up to which events may have been deleted, by the time at which it was asked.
    pub(crate) maybe_deleted: Rising,
    /// The number up to which events certainly were deleted, by the time at which it was answered.
    pub(crate) surely_deleted: Rising,
    /// The same as `maybe_deleted`, without what retention deletes.
    pub(crate) maybe_deleted_uncovered: Rising,
}

impl<'h> EventStream<'h> {
    /// Derives what follows from what was gathered.
    pub(crate) fn settle(&mut self) {
        self.by_uid = (0..)
            .zip(&self.writes)
            .flat_map(|(write, of)| {
                (0..)
                    .zip(of.uids)
                    .map(move |(place, uid)| (*uid, write, place))
            })
            .collect();
        self.by_uid.sort_unstable();
        self.looks.sort_by_key(|look| (look.from, look.line));
        self.handled.sort_by_key(|run| (run.at, run.line));
        self.snapshot_deletions
            .sort_by_key(|deletion| deletion.from);
        self.place_events();
        self.follow_time();
    }

    fn place_events(&mut self) {
        let mut log = Vec::new();
        for write in &self.writes {
            if let Outcome::Stored(first) = write.outcome {
                log.extend((first..).zip(write.uids).map(|(number, uid)| Placed {
                    number,
                    uid: *uid,
                    line: write.answer_line,
                }));
            }
        }
        log.extend(self.handled.iter().map(|run| Placed {
            number: run.number,
            uid: run.uid,
            line: run.line,
        }));
        for look in &self.looks {
            let events = look.recovered.events.iter().flatten();
            log.extend(events.map(|(number, uid)| Placed {
                number: *number,
                uid: *uid,
                line: look.line,
            }));
        }
        log.extend(self.shown.iter().map(|shown| shown.2));
        log.extend(&self.rows);
        log.sort_unstable();
        log.dedup_by_key(|placed| (placed.number, placed.uid));
        self.log = log;
    }

    fn follow_time(&mut self) {
        for write in &self.writes {
            if let Outcome::Stored(first) = write.outcome {
                let last = (first + write.uids.len() as u64).saturating_sub(1);
                self.known.add(write.stored_at, last, write.answer_line);
            }
        }
        for run in &self.handled {
            self.known.add(run.at, run.number, run.line);
        }
        for look in &self.looks {
            self.known
                .add(look.until, look.recovered.highest, look.line);
        }
        for (_, at, placed) in &self.shown {
            self.known.add(*at, placed.number, placed.line);
        }
        self.known.settle();
        for deletion in &self.deletions {
            self.maybe_deleted
                .add(deletion.from, deletion.to, deletion.line);
            if !deletion.covered {
                let maybe = &mut self.maybe_deleted_uncovered;
                maybe.add(deletion.from, deletion.to, deletion.line);
            }
            let there = self.known.before(deletion.from).map_or(0, |known| known.0);
            if deletion.done_at < u64::MAX {
                let surely = &mut self.surely_deleted;
                surely.add(deletion.done_at, deletion.to.min(there), deletion.line);
            }
        }
        self.maybe_deleted.settle();
        self.maybe_deleted_uncovered.settle();
        self.surely_deleted.settle();
    }

    /// Returns the write of an event and its place in it.
    pub(crate) fn writes_of(&self, uid: Uid) -> impl Iterator<Item = (&Write<'h>, usize)> {
        let first = self.by_uid.partition_point(|entry| entry.0 < uid);
        let of_uid = self.by_uid[first..]
            .iter()
            .take_while(move |entry| entry.0 == uid);
        of_uid.map(|(_, write, place)| (&self.writes[*write], *place))
    }

    /// Returns the `Persist` of an event and its place in it.
    pub(crate) fn persist_of(&self, uid: Uid) -> Option<(&Write<'h>, usize)> {
        self.writes_of(uid)
            .find(|(write, _)| write.incarnation.is_some())
    }

    /// Returns the events with numbers of this range.
    pub(crate) fn between(&self, from: u64, to: u64) -> &[Placed] {
        let first = self.log.partition_point(|placed| placed.number < from);
        let after = self.log.partition_point(|placed| placed.number <= to);
        &self.log[first..after.max(first)]
    }

    /// Returns the event with this number.
    pub(crate) fn at(&self, number: u64) -> Option<&Placed> {
        self.between(number, number).first()
    }
}
