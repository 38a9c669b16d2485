//! The part of the journal that is special to PostgreSQL: taking over, storing, reading a page.

mod append;
mod recover;
mod replay;

use actix_persistence_sql::{Group, JournalDialect, Opening, SqlError, SqlNames};
use actix_persistence_storage_api::{
    PageLimit, PersistenceId, Recovered, RecoveryRequest, ReplayPage, ReplayRange,
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

    async fn recover(
        connection: &mut PgConnection,
        queries: &PostgresQueries,
        requests: Vec<RecoveryRequest>,
        _: Opening,
    ) -> Result<Vec<Recovered>, SqlError> {
        recover::recover(connection, queries, requests).await
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
