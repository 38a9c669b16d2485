//! Storing a group of events in one statement.

use actix_persistence_sql::{Appended, EventRow, Group, SqlError, get_integer, get_number};
use actix_persistence_storage_api::Payload;
use sqlx::PgConnection;

use crate::Postgres;
use crate::journal::columns::Columns;
use crate::queries::PostgresQueries;

/// Stores the events of the ids that pass the fence, and returns those that do not, and the number of the events.
pub(crate) async fn append(
    connection: &mut PgConnection,
    queries: &PostgresQueries,
    group: Group,
) -> Result<Appended, SqlError> {
    let has_tags = group.events.iter().any(|row| !row.event.tags.is_empty());
    let mut columns = Columns::default();
    columns.add_heads(&group);
    columns.add_events(&group.events);
    columns.add_metadata(&group.events);
    columns.add(group.events.iter().map(|row| row.checksum));
    if has_tags {
        columns.add_tags(&group.events);
    }
    let takes_over = group.takes_over();
    if takes_over {
        columns.add_writers(&group);
    }
    let sql = match (has_tags, takes_over) {
        (false, false) => &queries.append,
        (true, false) => &queries.append_with_tags,
        (false, true) => &queries.append_and_take_over,
        (true, true) => &queries.append_with_tags_and_take_over,
    };
    let sql = sql.clone();
    let Group { heads, events, .. } = group;
    let stored = events.len();
    // The columns hold copies.
    drop(events);
    let rows = sqlx::query_with(sql, columns.0)
        .fetch_all(connection)
        .await?;
    let mut losers = Vec::new();
    let mut numbers = Vec::new();
    for row in &rows {
        let place = get_number::<Postgres>(row, 0)?;
        if place == 0 {
            numbers = vec![get_integer::<Postgres>(row, 1)?; stored];
            continue;
        }
        let head = usize::try_from(place)
            .ok()
            .and_then(|place| heads.get(place.checked_sub(1)?));
        let head = head.ok_or_else(|| SqlError::corrupt(format!("there is no id {place}")))?;
        losers.push(head.id.clone());
    }
    Ok(Appended { losers, numbers })
}

impl Columns {
    fn add_heads(&mut self, group: &Group) {
        let heads = &group.heads;
        self.add(heads.iter().map(|head| head.id.as_str()));
        self.add(heads.iter().map(|head| head.epoch));
        self.add(heads.iter().map(|head| head.before));
        self.add(heads.iter().map(|head| head.last));
    }

    /// Adds the writers that take ids over, and the epochs afterwards.
    fn add_writers(&mut self, group: &Group) {
        let writers = group.heads.iter().map(|head| head.taken_over_by);
        self.add(writers.map(|writer| writer.map(|writer| writer.as_bytes().to_vec())));
        self.add(group.heads.iter().map(|head| head.epoch_afterwards));
    }

    fn add_events(&mut self, rows: &[EventRow]) {
        self.add(rows.iter().map(|row| row.id.as_str()));
        self.add(rows.iter().map(EventRow::sequence_nr));
        self.add(rows.iter().map(slice));
        self.add(rows.iter().map(|row| row.event.timestamp.as_micros()));
        self.add(rows.iter().map(|row| &row.event.writer.as_bytes()[..]));
        self.add(
            rows.iter()
                .map(|row| i64::from(row.event.payload.serializer_id)),
        );
        self.add(rows.iter().map(|row| &*row.event.payload.manifest));
        self.add(rows.iter().map(|row| &*row.event.adapter_manifest));
        self.add(rows.iter().map(tag_count));
        self.add(rows.iter().map(|row| &row.event.payload.bytes[..]));
    }

    /// Adds empty arrays if no event has metadata: the server fills up arrays that are shorter than others with NULL.
    fn add_metadata(&mut self, rows: &[EventRow]) {
        let any = rows.iter().any(|row| row.event.metadata.is_some());
        let rows = if any { rows } else { &[] };
        let metadata = || rows.iter().map(|row| row.event.metadata.as_ref());
        self.add(metadata().map(|metadata| metadata.map(|data| i64::from(data.serializer_id))));
        self.add(metadata().map(|metadata| metadata.map(|data| &*data.manifest)));
        self.add(metadata().map(|metadata| metadata.map(bytes)));
    }

    fn add_tags(&mut self, rows: &[EventRow]) {
        let tagged = || {
            rows.iter().flat_map(|row| {
                let tags = row.event.tags.iter();
                tags.map(move |tag| (row, &**tag))
            })
        };
        self.add(tagged().map(|(row, _)| row.id.as_str()));
        self.add(tagged().map(|(row, _)| row.sequence_nr()));
        self.add(tagged().map(|(row, _)| slice(row)));
        self.add(tagged().map(|(_, tag)| tag));
    }
}

/// Returns the slice of a row; it fits, because there are 1,024 slices.
fn slice(row: &EventRow) -> i16 {
    i16::try_from(row.slice).unwrap_or(i16::MAX)
}

fn tag_count(row: &EventRow) -> i32 {
    i32::try_from(row.event.tags.len()).unwrap_or(i32::MAX)
}

fn bytes(payload: &Payload) -> &[u8] {
    &payload.bytes
}
