//! The part of the journal that is special to SQLite, within transactions of the code that all databases share.

mod append;
mod backup;
mod newest;
mod packed;
mod packed_events;
mod replay;
mod take_over;

use actix_persistence_sql::{
    Appended, AtOnce, ConnectionOf, Group, JournalDialect, Opening, QueriedEvent, RowOf, SqlError,
    SqlNames,
};
use actix_persistence_storage_api::{
    PageLimit, PersistenceId, ReplayPage, ReplayRange, TakeOverRequest, TakenOver,
};

pub use backup::{Backup, BackupReport};

use crate::Sqlite;
use crate::queries::JournalQueries;

impl JournalDialect for Sqlite {
    type JournalQueries = JournalQueries;
    const ONE_STATEMENT: bool = false;
    const WORK_BEGINS: bool = true;

    fn journal_queries(names: &SqlNames) -> JournalQueries {
        JournalQueries::new(names)
    }

    async fn take_over(
        connection: &mut ConnectionOf<Self>,
        queries: &JournalQueries,
        requests: Vec<TakeOverRequest>,
        opening: Opening,
    ) -> Result<Vec<TakenOver>, SqlError> {
        opening.complete::<Self>(connection).await?;
        take_over::take_over(connection, queries, &requests).await
    }

    async fn append(
        connection: &mut ConnectionOf<Self>,
        queries: &JournalQueries,
        group: Group,
        opening: Opening,
    ) -> Result<Appended, SqlError> {
        append::append(connection, queries, group, opening).await
    }

    fn begins_append(group: &Group) -> bool {
        group.is_small()
    }

    fn stores_at_once(group: &Group) -> bool {
        append::at_once::stores(group)
    }

    async fn append_at_once(
        connection: &mut ConnectionOf<Self>,
        queries: &JournalQueries,
        group: Group,
    ) -> Result<AtOnce<Appended>, SqlError> {
        append::at_once::append(connection, queries, group).await
    }

    async fn read_page(
        connection: &mut ConnectionOf<Self>,
        queries: &JournalQueries,
        id: &PersistenceId,
        range: ReplayRange,
        limit: PageLimit,
    ) -> Result<ReplayPage, SqlError> {
        replay::read_page(connection, queries, id, range, limit).await
    }

    fn unpack_events(row: &RowOf<Self>) -> Option<Result<Vec<QueriedEvent>, SqlError>> {
        Some(packed_events::unpack(row))
    }

    const CHECKS_JOURNAL: bool = true;

    async fn check_journal(
        connection: &mut ConnectionOf<Self>,
        queries: &JournalQueries,
    ) -> Result<(), SqlError> {
        newest::check_newest(connection, queries).await
    }
}

#[cfg(test)]
mod tests;
