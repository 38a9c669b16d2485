//! The events that the statements of queries return.

use std::sync::Arc;

use actix_persistence_storage_api::{
    EventOffset, EventPosition, EventRecord, Payload, PersistenceId, SequenceNr,
};

use super::{Contents, Range, Unreadable};
use crate::checksum;
use crate::page::{MOST_BYTES, SIZE, to_event_of_size, too_large};
use crate::row::{get_integer, get_number, get_optional_integer, key_of};
use crate::{Dialect, EventQueryStatements, RowOf, SqlError, SqlxDatabase};

/// An event as a statement of a query returns it.
#[derive(Debug)]
pub struct QueriedEvent {
    /// The number in the order of commits.
    pub ordering: i64,
    /// The id of the event.
    pub persistence_id: PersistenceId,
    /// The number of the event in the stream of its id.
    pub sequence_nr: SequenceNr,
    /// The event, as far as it was read.
    pub content: QueriedContent,
}

/// The part of an event that was read.
#[derive(Debug)]
pub enum QueriedContent {
    /// All of it.
    Event(EventRecord),
    /// Only the bytes that its payload and that of its metadata have: it is too large to be read with others.
    Large(usize),
    /// Nothing that can be used.
    Damaged(SqlError),
}

impl QueriedEvent {
    /// Returns the event, if all of it was read.
    pub fn event(&self) -> Option<&EventRecord> {
        match &self.content {
            QueriedContent::Event(event) => Some(event),
            QueriedContent::Large(_) | QueriedContent::Damaged(_) => None,
        }
    }

    /// Returns the place of the event in the order of commits.
    pub(super) fn position(&self, statements: &EventQueryStatements) -> EventPosition {
        statements.position_of(self.ordering, &self.persistence_id, self.sequence_nr)
    }

    /// Compares the event, with its tags, with the sum over what was stored, if there is one: an event with another sum is
    /// damaged.
    pub fn check(&mut self, checksum: Option<i64>) {
        if let QueriedContent::Event(event) = &self.content
            && let Err(error) =
                checksum::check(checksum, || checksum::of_event(&self.persistence_id, event))
        {
            self.content = QueriedContent::Damaged(error);
        }
    }
}

/// An event of a range of a page.
pub(super) struct Row {
    /// The place of its range.
    pub(super) range: usize,
    pub(super) event: QueriedEvent,
}

impl Row {
    pub(super) fn position(&self, statements: &EventQueryStatements) -> EventPosition {
        self.event.position(statements)
    }

    /// Returns the bytes of the payload and of that of the metadata.
    pub(super) fn size(&self) -> usize {
        match &self.event.content {
            QueriedContent::Event(event) => {
                event.payload.len() + event.metadata.as_ref().map_or(0, Payload::len)
            }
            QueriedContent::Large(size) => *size,
            QueriedContent::Damaged(_) => 0,
        }
    }

    pub(super) fn is_damaged(&self) -> bool {
        matches!(self.event.content, QueriedContent::Damaged(_))
    }

    pub(super) fn is_large(&self) -> bool {
        matches!(self.event.content, QueriedContent::Large(_))
    }

    pub(super) fn into_unreadable(self, offset_after: EventOffset) -> Unreadable {
        let error = match self.event.content {
            QueriedContent::Damaged(error) => error,
            // Not reached: only what is damaged makes no page.
            QueriedContent::Event(_) => too_large(0),
            QueriedContent::Large(size) => too_large(size as u64),
        };
        Unreadable {
            error: error.about(format_args!("sequence number {}", self.event.sequence_nr)),
            persistence_id: self.event.persistence_id,
            offset_after,
        }
    }
}

/// The rows of a statement, while it returns them.
pub(super) struct Reading<'r, 'q> {
    pub(super) statements: &'r EventQueryStatements,
    pub(super) ranges: &'r [Range<'q>],
    pub(super) contents: Contents,
    pub(super) rows: Vec<Row>,
}

/// The columns after those of a page of one id.
const ID: usize = 14;
const TAGS: usize = 15;
/// The partition, where there are several.
const PARTITION: usize = 16;

impl Reading<'_, '_> {
    pub(super) fn take<D: Dialect>(&mut self, row: &RowOf<D>) -> Result<(), SqlError> {
        if self.contents == Contents::OfSmall
            && let Some(events) = D::unpack_events(row)
        {
            for event in events? {
                self.push(Row { range: 0, event });
            }
            return Ok(());
        }
        let persistence_id = self.id_of::<D>(row)?;
        let sequence_nr = get_number::<D>(row, 1)?;
        let content = match get_optional_integer::<D>(row, SIZE)? {
            Some(size) if self.contents == Contents::OfSmall && size <= MOST_BYTES as i64 => {
                QueriedContent::Large(usize::try_from(size).unwrap_or(0))
            }
            Some(size) => {
                let size = u64::try_from(size).unwrap_or_default();
                QueriedContent::Damaged(too_large(size))
            }
            None => match self.event_of::<D>(row, sequence_nr) {
                Ok(event) => QueriedContent::Event(event),
                Err(error @ SqlError::Refused { .. }) => QueriedContent::Damaged(error),
                Err(error) => return Err(error),
            },
        };
        let (range, content) = match self.range_of::<D>(row, &persistence_id)? {
            (range, true) => (range, content),
            (range, false) => {
                let error = "it has the partition of another id; see what else writes to the table";
                (range, QueriedContent::Damaged(SqlError::corrupt(error)))
            }
        };
        let mut event = QueriedEvent {
            ordering: get_integer::<D>(row, 0)?,
            persistence_id,
            sequence_nr,
            content,
        };
        event.check(get_optional_integer::<D>(row, 12)?);
        self.push(Row { range, event });
        Ok(())
    }

    fn push(&mut self, row: Row) {
        // It stands in the place of one that was deleted meanwhile, and belongs to the next page.
        let last = self.ranges[row.range].last.as_ref();
        if last.is_none_or(|last| row.position(self.statements) <= *last) {
            self.rows.push(row);
        }
    }

    /// Events of one id often follow on each other.
    fn id_of<D: Dialect>(&self, row: &RowOf<D>) -> Result<PersistenceId, SqlError> {
        let id = key_of::<D>(row, ID)?;
        Ok(match self.rows.last() {
            Some(last) if last.event.persistence_id.as_str() == id => {
                last.event.persistence_id.clone()
            }
            _ => PersistenceId::of_unique(id),
        })
    }

    /// Returns the place of the range with the partition of a row, and whether that is the partition of the id.
    fn range_of<D: Dialect>(
        &self,
        row: &RowOf<D>,
        id: &PersistenceId,
    ) -> Result<(usize, bool), SqlError> {
        let Some(partitions) = &self.statements.partitions else {
            return Ok((0, true));
        };
        let nr = get_integer::<D>(row, PARTITION)?;
        let mut ranges = self.ranges.iter();
        let place = ranges.position(|range| i64::from(range.partition.nr()) == nr);
        let place = place.ok_or_else(|| {
            SqlError::corrupt(format!(
                "an event of {id:?} is of partition {nr}, which was not asked for"
            ))
        })?;
        let is_its_own = partitions.of_slice(id.slice())? == self.ranges[place].partition;
        Ok((place, is_its_own))
    }

    /// Returns an event that is not larger than it may be.
    fn event_of<D: Dialect>(
        &self,
        row: &RowOf<D>,
        sequence_nr: SequenceNr,
    ) -> Result<EventRecord, SqlError> {
        let before = self.rows.last().and_then(|row| row.event.event());
        let mut event = to_event_of_size::<D>(row, sequence_nr, before)?;
        let expected = get_optional_integer::<D>(row, 5)?;
        if expected != Some(0)
            && let Some(tags) = D::Database::text_of(row, TAGS)?
        {
            let tags: Vec<String> = serde_json::from_str(tags)
                .map_err(|_| SqlError::corrupt("the tags are no array of texts"))?;
            event.tags = tags.into_iter().map(Arc::from).collect();
        }
        if expected.is_some_and(|expected| expected != event.tags.len() as i64) {
            return Err(SqlError::corrupt(
                "it has more or fewer tags than when it was stored",
            ));
        }
        Ok(event)
    }
}
