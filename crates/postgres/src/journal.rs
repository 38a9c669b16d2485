//! The part of the journal that is special to PostgreSQL: taking over, storing, reading a page.

mod append;
pub(crate) mod columns;
mod replay;
mod take_over;

use actix_persistence_sql::{
    Appended, Group, JournalDialect, Opening, PageRequest, SqlError, SqlNames,
};
use actix_persistence_storage_api::{
    PageLimit, PersistenceId, ReplayPage, ReplayRange, TakeOverRequest, TakenOver,
};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::Postgres;
use crate::queries::PostgresQueries;

impl JournalDialect for Postgres {
    type JournalQueries = PostgresQueries;
    const ONE_STATEMENT: bool = true;

    fn journal_queries(names: &SqlNames) -> PostgresQueries {
        crate::queries::queries(names)
    }

    async fn take_over(
        connection: &mut PgConnection,
        queries: &PostgresQueries,
        requests: Vec<TakeOverRequest>,
        _: Opening,
    ) -> Result<Vec<TakenOver>, SqlError> {
        take_over::take_over(connection, queries, requests).await
    }

    async fn append(
        connection: &mut PgConnection,
        queries: &PostgresQueries,
        group: Group,
        _: Opening,
    ) -> Result<Appended, SqlError> {
        append::append(connection, queries, group).await
    }

    async fn read_page(
        connection: &mut PgConnection,
        queries: &PostgresQueries,
        id: &PersistenceId,
        range: ReplayRange,
        limit: PageLimit,
    ) -> Result<ReplayPage, SqlError> {
        replay::read_page(connection, queries, id, range, limit).await
    }

    const SHARED_HEADS: usize = 32;

    async fn read_heads(
        connection: &mut PgConnection,
        queries: &PostgresQueries,
        ids: &[PersistenceId],
    ) -> Result<Vec<PgRow>, SqlError> {
        let ids: Vec<&str> = ids.iter().map(PersistenceId::as_str).collect();
        let heads = sqlx::query(queries.heads.clone()).bind(ids);
        Ok(heads.fetch_all(connection).await?)
    }

    const SHARED_PAGES: usize = 8;

    fn shares_page(queries: &PostgresQueries, range: ReplayRange) -> bool {
        replay::is_short(range) && !queries.large_events.were_met_lately()
    }

    async fn read_pages(
        connection: &mut PgConnection,
        queries: &PostgresQueries,
        requests: &[PageRequest],
    ) -> Result<Vec<Option<ReplayPage>>, SqlError> {
        replay::read_pages(connection, queries, requests).await
    }
}
