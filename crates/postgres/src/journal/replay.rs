//! Reading one page of events.

use actix_persistence_sql::{
    MOST_BYTES, PageStatements, SqlError, Values, read_page_of_rows, to_bound, to_integer,
};
use actix_persistence_storage_api::{PageLimit, PersistenceId, ReplayPage, ReplayRange};
use sqlx::PgConnection;

use crate::Postgres;
use crate::queries::PostgresQueries;

/// Reads events of an id from the lowest on, and what is deleted, as of one moment.
pub(crate) async fn read_page(
    connection: &mut PgConnection,
    queries: &PostgresQueries,
    id: &PersistenceId,
    range: ReplayRange,
    limit: PageLimit,
) -> Result<ReplayPage, SqlError> {
    let values = |max_bytes: usize| {
        let mut values = Values::<Postgres>::with_capacity(5);
        values.id(id);
        values.integer(to_bound(range.from));
        // No number is above what a database stores, so a range that begins there is empty.
        values.integer(to_integer(range.from).map_or(0, |_| to_bound(range.to)));
        // One more than wanted shows whether there is more.
        values.integer(to_bound(limit.max_events as u64).saturating_add(1));
        values.integer(to_bound(max_bytes as u64));
        values
    };
    let statements = PageStatements {
        whole: &queries.whole_page,
        whole_values: &|| values(limit.max_bytes.min(MOST_BYTES)),
        any: &queries.page,
        any_values: &|| values(limit.max_bytes),
        tags: &queries.tags,
    };
    read_page_of_rows(connection, &statements, id, limit).await
}
