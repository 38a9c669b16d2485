//! The part of the journal that is special to MySQL: taking over, storing, reading a page.

mod append;
pub(crate) mod numbering;
mod replay;
mod take_over;

use actix_persistence_sql::{Appended, Group, JournalDialect, Opening, SqlError, SqlNames};
use actix_persistence_storage_api::{
    PageLimit, PersistenceId, ReplayPage, ReplayRange, TakeOverRequest, TakenOver,
};
use sqlx::MySqlConnection;

use crate::Mysql;
use crate::queries::JournalQueries;

impl JournalDialect for Mysql {
    type JournalQueries = JournalQueries;
    const ONE_STATEMENT: bool = false;

    fn journal_queries(names: &SqlNames) -> JournalQueries {
        JournalQueries::new(names)
    }

    async fn take_over(
        connection: &mut MySqlConnection,
        queries: &JournalQueries,
        requests: Vec<TakeOverRequest>,
        _: Opening,
    ) -> Result<Vec<TakenOver>, SqlError> {
        take_over::take_over(connection, queries, requests).await
    }

    async fn append(
        connection: &mut MySqlConnection,
        queries: &JournalQueries,
        group: Group,
        opening: Opening,
    ) -> Result<Appended, SqlError> {
        append::append(connection, queries, group, opening).await
    }

    fn begins_append(group: &Group) -> bool {
        append::in_one_text::stores(group)
    }

    async fn append_within(
        connection: &mut MySqlConnection,
        queries: &JournalQueries,
        group: Group,
    ) -> Result<Vec<PersistenceId>, SqlError> {
        append::append_within(connection, queries, group).await
    }

    async fn read_page(
        connection: &mut MySqlConnection,
        queries: &JournalQueries,
        id: &PersistenceId,
        range: ReplayRange,
        limit: PageLimit,
    ) -> Result<ReplayPage, SqlError> {
        replay::read_page(connection, queries, id, range, limit).await
    }
}
