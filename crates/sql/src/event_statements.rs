//! The statements that query the events of all ids, in the words of each database.

use std::sync::OnceLock;

use actix_persistence_storage_api::{EventPosition, Partition, PersistenceId, SequenceNr};
use sqlx::SqlStr;

use crate::names::safe;
use crate::{Partitions, SqlError};

/// The statements that query the events of all ids.
///
/// Values are named in the order given here, each once.
#[derive(Clone, Debug)]
pub struct EventQueryStatements {
    /// The partitions whose counters number events; `None` if there is one order of all.
    pub partitions: Option<Partitions>,
    /// True if no two events of a partition have the same number.
    pub has_unique_numbers: bool,
    /// Selects the place up to which events are complete: the highest number of each partition at or below which nothing is
    /// added any more; no row, or NULL, for one without events. Never above the number of an event that was stored.
    ///
    /// A statement of its own, which comes before those that read events and is over by then; see docs/adr/0005-commit-order.md.
    /// No values. Returns: partition, number; 1 if rows of deleted events are left that are to be removed, and 0 otherwise.
    pub complete_to: SqlStr,
    /// Add up events between two numbers, even those that are deleted.
    pub sums: EventSumStatements,
    /// Selects the highest number of each partition that a committed event has; otherwise as `complete_to`, without the last column.
    pub newest: SqlStr,
    /// The number of an event that is not deleted. Values: id, number. Returns: its number in the order of commits.
    pub place_of: SqlStr,
    /// Selects the transactions under way that hold readers back, the oldest first; `None` where none ever does. No values.
    /// Returns: session, program, activity, microseconds since the transaction began, of which all but the first may be NULL.
    pub holders: Option<SqlStr>,
    /// Ids in the order of their bytes. Values: the lowest, the end, 1 for those without an event that is left, too, the most.
    pub ids: SqlStr,
    /// The statement `ids`, for ids without an entity type.
    pub ids_without_type: SqlStr,
    /// The events of all ids, found by their numbers. No first value.
    pub of_all: EventSourceStatements,
    /// The events of an entity type. First value: the type.
    pub of_type: EventSourceStatements,
    /// The events with a tag. First value: the tag.
    pub of_tag: EventSourceStatements,
}

impl EventQueryStatements {
    /// Returns the place of an event with this number in the order of commits.
    pub(crate) fn position_of(
        &self,
        ordering: i64,
        id: &PersistenceId,
        sequence_nr: SequenceNr,
    ) -> EventPosition {
        match self.has_unique_numbers {
            true => EventPosition::after_all_of(ordering),
            false => EventPosition::new(ordering, id.clone(), sequence_nr),
        }
    }

    /// Returns the partition of a slice.
    ///
    /// # Errors
    /// If their number was not read yet.
    pub(crate) fn partition_of(&self, slice: u16) -> Result<Partition, SqlError> {
        match &self.partitions {
            Some(partitions) => partitions.of_slice(slice),
            None => Ok(Partition::ONLY),
        }
    }
}

/// The statements that say whether some events are all there is, without returning them.
#[derive(Clone, Debug)]
pub enum EventSumStatements {
    /// One statement, where there is one order of all events, that says how far they are complete, too. It adds up none above the
    /// highest number, and none where it cannot be sure to see all.
    ///
    /// Values: the lowest number, twice, and the highest. Returns: the number up to which it added up; 1 if rows of deleted events
    /// are left, and 0 otherwise; 1 if events above that number can be read now, and 0 otherwise; the number of events, the sum
    /// of their numbers, each less the lowest, and the sum of their checksums.
    OfOneOrder(SqlStr),
    /// The parts of a statement with its values in the text, which follows on `complete_to` in the same text: before a number, before
    /// conditions on `e.partition_nr` and `e.ordering`, and after them.
    ///
    /// Returns, for each partition that has such events: partition, the number of events, the sum of their numbers, each less the
    /// number given, and the sum of their checksums.
    OfPartitions([SqlStr; 3]),
}

/// The statements that read events by one index; each for 1, 2, 4, 8, .. partitions, or for one alone if there is one order.
#[derive(Clone, Debug)]
pub struct EventSourceStatements {
    pub(crate) window: OfPartitions,
    /// For a selection that every entry of the index belongs to, while no rows of deleted events are left.
    pub(crate) every: EventStatements,
    pub(crate) selected: EventStatements,
}

/// The statements that read events, as [`EventTexts`] says.
#[derive(Clone, Debug)]
pub(crate) struct EventStatements {
    pub(crate) small: OfPartitions,
    pub(crate) any: OfPartitions,
}

/// The texts of the statements that read events by one index, each for one partition.
#[derive(Clone, Copy, Debug)]
pub struct EventSourceTexts<'t> {
    /// Finds the number of the event that stands so many places after a number, in the order of commits.
    /// Values: the first value of the source, the partition if there are several; the lowest and the highest number;
    /// how many to pass by. Returns: partition, number; no row for a partition that has no such event.
    pub window: &'t str,
    /// Reads every event, even if it is deleted. Values: the first value of the source, the partition if there are several; the
    /// number of the last event that was read, its id and sequence number where numbers are not unique, or else the lowest
    /// number; the highest number; the most.
    pub every: EventTexts<'t>,
    /// Reads the events of a selection that are not deleted. Values as for `every`, and before the most: first and last slice; 1
    /// for any entity type, and the type, but not where that is the first value; 1 for any manifest, and the manifest.
    ///
    /// Looks at many events that are not selected, and reads no payloads of these.
    pub selected: EventTexts<'t>,
    /// The pieces of the texts: each key in braces with what stands for it, which may hold later keys.
    pub pieces: &'t [(&'t str, &'t str)],
}

/// The texts that read events in the order of commits: the first in the order of their numbers, if there are more than the most.
///
/// A row has: the number; the columns of [`read_page_of_rows`](crate::read_page_of_rows) after the first; the id; tags as a JSON
/// array, or NULL if there are none; the partition if there are several.
#[derive(Clone, Copy, Debug)]
pub struct EventTexts<'t> {
    /// Reads nothing large of an event that is larger than [`SMALL_EVENT`](EventSourceStatements::SMALL_EVENT), but its size.
    /// The rows may have any form that [`unpack_events`](crate::JournalDialect::unpack_events) knows.
    pub small: &'t str,
    /// Reads the contents of all events that are not larger than they may be.
    pub any: &'t str,
}

impl<'t> EventTexts<'t> {
    /// Returns these texts: for small events, and for any.
    pub fn new([small, any]: &'t [String; 2]) -> Self {
        Self { small, any }
    }
}

impl EventSourceStatements {
    /// The most bytes of a small event: the most that one page has of them is a few MiB.
    pub const SMALL_EVENT: usize = 4096;

    /// Puts the statements together; `fill` puts names into a text.
    pub fn new(texts: &EventSourceTexts<'_>, fill: impl Fn(&str) -> SqlStr) -> Self {
        let small = Self::SMALL_EVENT.to_string();
        let small = ("small_event", &*small);
        let fill = |text: &str| {
            let pieces = texts.pieces.iter().chain([&small]);
            let whole = pieces.fold(text.to_owned(), |text, (key, piece)| {
                text.replace(&format!("{{{key}}}"), piece)
            });
            OfPartitions::new(fill(&whole))
        };
        let events = |texts: EventTexts<'_>| EventStatements {
            small: fill(texts.small),
            any: fill(texts.any),
        };
        Self {
            window: fill(texts.window),
            every: events(texts.every),
            selected: events(texts.selected),
        }
    }
}

/// A statement for 1, 2, 4, 8, .. partitions, which is put together when it is first needed: those for many are long.
///
/// Rows of partitions have no order among each other, so nothing is sorted or kept in a temporary table.
#[derive(Clone, Debug)]
pub(crate) struct OfPartitions {
    of_one: SqlStr,
    of_several: [OnceLock<SqlStr>; Self::POWERS],
}

impl OfPartitions {
    const POWERS: usize = Partition::MOST.ilog2() as usize;

    fn new(of_one: SqlStr) -> Self {
        Self {
            of_one,
            of_several: [const { OnceLock::new() }; OfPartitions::POWERS],
        }
    }

    /// Returns the statement for this number of partitions, or a few more, and for how many it is; `None` for none.
    pub(crate) fn of(&self, partitions: usize) -> Option<(SqlStr, usize)> {
        let places = partitions
            .checked_next_power_of_two()
            .filter(|_| partitions > 0)?;
        let Some(power) = (places.ilog2() as usize).checked_sub(1) else {
            return Some((self.of_one.clone(), places));
        };
        let several = self.of_several.get(power)?;
        let sql =
            several.get_or_init(|| safe(vec![self.of_one.as_str(); places].join("\nUNION ALL\n")));
        Some((sql.clone(), places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_repeated_for_the_next_power_of_two() {
        let statement = OfPartitions::new(safe("(SELECT 1)".to_owned()));
        assert!(statement.of(0).is_none());
        let expected = [(1, 1), (2, 2), (3, 4), (4, 4), (33, 64), (64, 64)];
        for (partitions, places) in expected {
            let (sql, of) = statement.of(partitions).unwrap();
            assert_eq!(
                (sql.as_str().matches("SELECT").count(), of),
                (places, places)
            );
        }
        assert!(statement.of(65).is_none());
    }
}
