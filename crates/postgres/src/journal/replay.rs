//! Reading one page of events.

use actix_persistence_sql::{
    MOST_BYTES, PageRequest, PageStatements, SharedPageStatements, SmallPageStatement, SqlError,
    TaggedEvents, Values, read_page_of_rows, read_shared_pages, to_bound, to_integer,
};
use actix_persistence_storage_api::{PageLimit, PersistenceId, ReplayPage, ReplayRange};
use sqlx::PgConnection;

use super::columns::Columns;
use crate::Postgres;
use crate::queries::{PostgresQueries, SMALL_EVENT};

/// Reads events of an id from the lowest on, and what is deleted, as of one moment.
pub(crate) async fn read_page(
    connection: &mut PgConnection,
    queries: &PostgresQueries,
    id: &PersistenceId,
    range: ReplayRange,
    limit: PageLimit,
) -> Result<ReplayPage, SqlError> {
    // One more than wanted shows whether there is more.
    let rows = limit.max_events.saturating_add(1);
    let without_bytes = || {
        let mut values = Values::<Postgres>::with_capacity(5);
        values.id(id);
        let [lowest, highest] = bounds(range);
        values.integer(lowest);
        values.integer(highest);
        values.integer(to_bound(rows as u64));
        values
    };
    let with_bytes = |max_bytes: usize| {
        let mut values = without_bytes();
        values.integer(to_bound(max_bytes as u64));
        values
    };
    let may_be_small = rows.saturating_mul(SMALL_EVENT) <= limit.max_bytes;
    let small = may_be_small.then_some(SmallPageStatement {
        sql: &queries.small_page,
        values: &without_bytes,
        large_events: &queries.large_events,
    });
    let statements = PageStatements {
        small,
        whole: &queries.whole_page,
        whole_values: &|| with_bytes(limit.max_bytes.min(MOST_BYTES)),
        any: &queries.page,
        any_values: &|| with_bytes(limit.max_bytes),
        tags: &queries.tags,
    };
    read_page_of_rows(connection, &statements, id, limit).await
}

/// Reads events of several ids if they are small, and what is deleted, as of one moment.
pub(crate) async fn read_pages(
    connection: &mut PgConnection,
    queries: &PostgresQueries,
    requests: &[PageRequest],
) -> Result<Vec<Option<ReplayPage>>, SqlError> {
    let mut values = Columns::default();
    values.add(requests.iter().map(|request| request.id.as_str()));
    values.add(requests.iter().map(|request| bounds(request.range)[0]));
    values.add(requests.iter().map(|request| bounds(request.range)[1]));
    let statements = SharedPageStatements {
        pages: &queries.pages,
        values: Values::from_arguments(values.0),
        tags: &queries.shared_tags,
        tag_values: values_of_tags,
        large_events: &queries.large_events,
    };
    read_shared_pages::<Postgres>(connection, statements, requests).await
}

fn values_of_tags(events: &[TaggedEvents<'_>]) -> Values<Postgres> {
    let mut values = Columns::default();
    values.add(events.iter().map(|(id, ..)| id.as_str()));
    values.add(events.iter().map(|(_, [lowest, _], _)| to_bound(*lowest)));
    values.add(events.iter().map(|(_, [_, highest], _)| to_bound(*highest)));
    values.add(events.iter().map(|(.., place)| to_bound(*place as u64)));
    Values::from_arguments(values.0)
}

/// Returns whether a page of a range may be read with others: 8 of such pages with small events have up to 4 MiB. Logs after a
/// snapshot are often as short.
pub(crate) fn is_short(range: ReplayRange) -> bool {
    const SHORT: u64 = 128;
    range.to.saturating_sub(range.from) < SHORT
}

/// Returns the lowest and the highest number of a range.
fn bounds(range: ReplayRange) -> [i64; 2] {
    // No number is above what a database stores, so a range that begins there is empty.
    let highest = to_integer(range.from).map_or(0, |_| to_bound(range.to));
    [to_bound(range.from), highest]
}
