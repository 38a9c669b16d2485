//! Reading one page of events.

use actix_persistence_sql::{Fault, Values, read_page_of_rows, to_bound, to_integer};
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
) -> Result<ReplayPage, Fault> {
    let values = || {
        let mut values = Values::<Mysql>::with_capacity(8);
        values.id(id);
        values.integer(to_bound(range.from));
        values.id(id);
        // No number is above what a database stores, so a range that begins there is empty.
        values.integer(to_integer(range.from).map_or(0, |_| to_bound(range.to)));
        // One more than wanted tells whether there is more.
        values.integer(to_bound(limit.max_events as u64).saturating_add(1));
        values.integer(to_bound(limit.max_bytes as u64));
        values.id(id);
        values.id(id);
        values
    };
    read_page_of_rows(connection, &queries.page, &queries.tags, id, values, limit).await
}
