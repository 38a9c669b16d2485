//! The part of the journal that is special to PostgreSQL: taking over, storing, reading a page.

mod append;
pub(crate) mod columns;
mod replay;
mod take_over;

use actix_persistence_sql::{Group, JournalDialect, Opening, SqlError, SqlNames};
use actix_persistence_storage_api::{
    PageLimit, PersistenceId, ReplayPage, ReplayRange, TakeOverRequest, TakenOver,
};
use sqlx::PgConnection;

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
    ) -> Result<Vec<PersistenceId>, SqlError> {
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
}
