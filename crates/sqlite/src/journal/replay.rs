//! Reading one page of events.

mod tags;

use std::sync::Arc;

use actix_persistence_storage_api::{
    EventRecord, PageLimit, Payload, PersistenceId, ReplayPage, ReplayRange, SequenceNr, Timestamp,
};
use bytes::Bytes;
use futures_util::TryStreamExt;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use crate::error::Fault;
use crate::queries::JournalQueries;
use crate::row::{
    Values, corrupt, get, get_number, get_optional, get_writer, to_bound, to_integer,
    to_serializer_id,
};

/// Reads events of an id from the lowest on, and what is deleted, as of one moment.
pub(super) async fn read_page(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    range: ReplayRange,
    limit: PageLimit,
) -> Result<ReplayPage, Fault> {
    loop {
        let mut draft = read_draft(connection, queries, id, range, limit).await?;
        if fill_in_large(connection, queries, id, &mut draft.events).await? {
            let events = draft.events.into_iter().map(|row| row.event).collect();
            return Ok(ReplayPage::new(events, draft.more, draft.deleted_to));
        }
        // An event was deleted in between: the page is read again without it.
    }
}

struct Draft {
    events: Vec<EventRow>,
    more: bool,
    deleted_to: SequenceNr,
}

struct EventRow {
    event: EventRecord,
    /// The payloads are still to be read.
    is_large: bool,
}

async fn read_draft(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    range: ReplayRange,
    limit: PageLimit,
) -> Result<Draft, Fault> {
    let mut values = Values::with_capacity(4);
    values.text(id.as_str());
    values.integer(to_bound(range.from));
    // No number is above what SQLite stores, so a range that begins there is empty.
    values.integer(to_integer(range.from).map_or(0, |_| to_bound(range.to)));
    // One more than wanted tells whether there is more.
    values.integer(to_bound((limit.max_events as u64).saturating_add(1)));
    let mut rows =
        sqlx::query_with(queries.replay.clone(), values.into_arguments()).fetch(connection);

    let mut draft = Draft {
        events: Vec::new(),
        more: false,
        deleted_to: 0,
    };
    let mut bytes = 0_usize;
    while let Some(row) = rows.try_next().await? {
        draft.deleted_to = get_number(&row, column::DELETED_TO)?;
        let sequence_nr: Option<i64> = get_optional(&row, column::SEQUENCE_NR)?;
        if sequence_nr.is_none() {
            break;
        }
        let size = usize::try_from(get_number(&row, column::SIZE)?).unwrap_or(usize::MAX);
        let is_full = !draft.events.is_empty() && bytes.saturating_add(size) > limit.max_bytes;
        if is_full || draft.events.len() >= limit.max_events {
            // The rows on their way are dropped with the stream, the statement ends.
            draft.more = true;
            break;
        }
        bytes = bytes.saturating_add(size);
        let before = draft.events.last().map(|row| &row.event);
        draft.events.push(to_event(&row, before)?);
    }
    Ok(draft)
}

/// The columns of the replay statement.
mod column {
    pub(super) const DELETED_TO: usize = 0;
    pub(super) const SEQUENCE_NR: usize = 1;
    pub(super) const TIMESTAMP: usize = 2;
    pub(super) const WRITER: usize = 3;
    pub(super) const SERIALIZER_ID: usize = 4;
    pub(super) const MANIFEST: usize = 5;
    pub(super) const ADAPTER_MANIFEST: usize = 6;
    pub(super) const SIZE: usize = 7;
    pub(super) const PAYLOAD: usize = 8;
    pub(super) const METADATA_SERIALIZER_ID: usize = 9;
    pub(super) const METADATA_MANIFEST: usize = 10;
    pub(super) const METADATA_PAYLOAD: usize = 11;
    pub(super) const TAGS: usize = 12;
}

fn to_event(row: &SqliteRow, before: Option<&EventRecord>) -> Result<EventRow, Fault> {
    let sequence_nr = get_number(row, column::SEQUENCE_NR)?;
    read_event(row, sequence_nr, before).map_err(|fault| at(sequence_nr, fault))
}

fn read_event(
    row: &SqliteRow,
    sequence_nr: SequenceNr,
    before: Option<&EventRecord>,
) -> Result<EventRow, Fault> {
    let bytes: Option<&[u8]> = get_optional(row, column::PAYLOAD)?;
    let payload = Payload {
        serializer_id: to_serializer_id(get(row, column::SERIALIZER_ID)?)?,
        manifest: shared(
            get(row, column::MANIFEST)?,
            before.map(|event| &event.payload.manifest),
        ),
        bytes: bytes.map_or_else(Bytes::new, Bytes::copy_from_slice),
    };
    let adapter_manifest = shared(
        get(row, column::ADAPTER_MANIFEST)?,
        before.map(|event| &event.adapter_manifest),
    );
    let timestamp = Timestamp::from_micros(get(row, column::TIMESTAMP)?);
    let writer = get_writer(row, column::WRITER)?;
    let mut event = EventRecord::new(sequence_nr, timestamp, writer, payload)
        .with_adapter_manifest(adapter_manifest);
    let is_large = bytes.is_none();
    if let Some(serializer_id) = get_optional(row, column::METADATA_SERIALIZER_ID)? {
        let manifest: &str = get(row, column::METADATA_MANIFEST)?;
        let bytes: &[u8] = match is_large {
            true => &[],
            false => get(row, column::METADATA_PAYLOAD)?,
        };
        event.metadata = Some(Payload::new(
            to_serializer_id(serializer_id)?,
            manifest,
            Bytes::copy_from_slice(bytes),
        ));
    }
    if let Some(packed) = get_optional(row, column::TAGS)? {
        event.tags =
            tags::unpack(packed).ok_or_else(|| corrupt("tags cannot be read".to_owned()))?;
    }
    Ok(EventRow { event, is_large })
}

/// The text of the event before, if it is the same: most events of an id share theirs.
fn shared(text: &str, before: Option<&Arc<str>>) -> Arc<str> {
    match before {
        Some(before) if **before == *text => Arc::clone(before),
        _ => text.into(),
    }
}

/// Says which event cannot be read.
fn at(sequence_nr: SequenceNr, fault: Fault) -> Fault {
    match fault {
        Fault::Refused {
            kind,
            message,
            source,
        } => Fault::Refused {
            kind,
            message: format!("sequence number {sequence_nr}: {message}"),
            source,
        },
        Fault::Database(error) => Fault::Refused {
            kind: actix_persistence_storage_api::StorageErrorKind::Corrupt,
            message: format!("sequence number {sequence_nr} cannot be read"),
            source: Some(Box::new(error)),
        },
    }
}

/// Reads what the page left out; false if an event is no longer there.
async fn fill_in_large(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    rows: &mut [EventRow],
) -> Result<bool, Fault> {
    for row in rows.iter_mut().filter(|row| row.is_large) {
        let event = &mut row.event;
        let mut values = Values::with_capacity(2);
        values.text(id.as_str());
        values.integer(to_bound(event.sequence_nr));
        let sql = queries.large_payloads.clone();
        let found = sqlx::query_with(sql, values.into_arguments())
            .fetch_optional(&mut *connection)
            .await?;
        let Some(found) = found else {
            return Ok(false);
        };
        event.payload.bytes = Bytes::from(get::<Vec<u8>>(&found, 0)?);
        if let Some(metadata) = &mut event.metadata {
            metadata.bytes = Bytes::from(get::<Vec<u8>>(&found, 1)?);
        }
    }
    Ok(true)
}
