//! Reading one page of events.

use actix_persistence_sql::{
    MOST_BYTES, PageStatements, SqlError, Values, read_page_of_rows, to_bound, to_integer,
};
use actix_persistence_storage_api::{PageLimit, PersistenceId, ReplayPage, ReplayRange};
use sqlx::MySqlConnection;

use crate::Mysql;
use crate::queries::JournalQueries;

/// Reads events of an id from the lowest on, and what is deleted, as of one moment.
pub(crate) async fn read_page(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    range: ReplayRange,
    limit: PageLimit,
) -> Result<ReplayPage, SqlError> {
    // No number is above what a database stores, so a range that begins there is empty.
    let to = to_integer(range.from).map_or(0, |_| to_bound(range.to));
    // One more than wanted shows whether there is more.
    let events = to_bound(limit.max_events as u64).saturating_add(1);
    let of_any_page = || {
        let mut values = Values::<Mysql>::with_capacity(8);
        values.id(id);
        values.integer(to_bound(range.from));
        values.id(id);
        values.integer(to);
        values.integer(events);
        values.integer(to_bound(limit.max_bytes as u64));
        values.id(id);
        values.id(id);
        values
    };
    let of_whole_page = || {
        let mut values = Values::<Mysql>::with_capacity(12);
        values.id(id);
        let in_range = |values: &mut Values<Mysql>| {
            values.id(id);
            values.integer(to_bound(range.from));
            values.id(id);
            values.integer(to);
            values.integer(events);
        };
        in_range(&mut values);
        values.integer(to_bound(limit.max_bytes.min(MOST_BYTES) as u64));
        in_range(&mut values);
        values
    };
    let statements = PageStatements {
        small: None,
        whole: &queries.whole_page,
        whole_values: &of_whole_page,
        any: &queries.page,
        any_values: &of_any_page,
        tags: &queries.tags,
    };
    read_page_of_rows(connection, &statements, id, limit).await
}
