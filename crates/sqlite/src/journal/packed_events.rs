//! The events of many ids in one value, as the statements of queries pack them.

use std::sync::Arc;

use actix_persistence_sql::{QueriedContent, QueriedEvent, SqlError};
use actix_persistence_storage_api::PersistenceId;
use bytes::Bytes;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::packed::{Packed, PackedTags, to_text, torn};

/// An event, and the sum over it when it was stored.
type Summed = (QueriedEvent, Option<i64>);

/// Takes events of a page out of a row, up to the first one that is damaged.
///
/// The first value has each: the number in the order of commits, the bytes of a large event or nothing, and the id after its
/// length; then the event as [`Packed`] has it, or the sequence number of a large one. It is NULL if there is none. The second
/// value has their tags, or is NULL.
pub(super) fn unpack(row: &SqliteRow) -> Result<Vec<QueriedEvent>, SqlError> {
    let Some(value) = row.try_get::<Option<Vec<u8>>, _>(0)? else {
        return Ok(Vec::new());
    };
    let mut events = unpack_events(&Bytes::from(value))?;
    if let Some(tags) = row.try_get(1)? {
        add_tags(&mut events, tags)?;
    }
    let events = events.into_iter().map(|(mut event, checksum)| {
        event.check(checksum);
        event
    });
    Ok(events.collect())
}

fn unpack_events(value: &Bytes) -> Result<Vec<Summed>, SqlError> {
    let mut packed = Packed::uncounted(value);
    let mut events: Vec<Summed> = Vec::new();
    while !packed.is_empty() {
        let ordering = packed.integer().ok_or_else(torn)?.ok_or_else(torn)?;
        let large = packed.integer().ok_or_else(torn)?;
        let length = packed.length()?;
        let id = to_text(packed.bytes(length)?)?;
        let before = events.last().map(|(event, _)| event);
        let persistence_id = match before {
            Some(before) if before.persistence_id.as_str() == id => before.persistence_id.clone(),
            _ => PersistenceId::of_unique(id),
        };
        let sequence_nr = packed.number().ok_or_else(torn)?;
        let (content, checksum) = match large {
            Some(size) => {
                let size = usize::try_from(size).map_err(|_| torn())?;
                (QueriedContent::Large(size), None)
            }
            None => match packed.event(sequence_nr, before.and_then(QueriedEvent::event)) {
                Ok(unpacked) => (QueriedContent::Event(unpacked.event), unpacked.checksum),
                Err(error) => (QueriedContent::Damaged(error), None),
            },
        };
        let is_damaged = matches!(content, QueriedContent::Damaged(_));
        let event = QueriedEvent {
            ordering,
            persistence_id,
            sequence_nr,
            content,
        };
        events.push((event, checksum));
        if is_damaged {
            // It cannot be known where the next one begins, and a page ends here.
            break;
        }
    }
    Ok(events)
}

/// Adds the tags of events that are there; both are in the order of commits.
fn add_tags(events: &mut [Summed], value: &[u8]) -> Result<(), SqlError> {
    let mut packed = PackedTags(value);
    while let Some((ordering, tag)) = packed.next()? {
        let place = events.binary_search_by_key(&ordering, |(event, _)| event.ordering);
        if let Ok(place) = place
            && let QueriedContent::Event(event) = &mut events[place].0.content
        {
            event.tags.push(Arc::from(tag));
        }
    }
    Ok(())
}
