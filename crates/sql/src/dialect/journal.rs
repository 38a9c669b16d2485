//! The part of a dialect that takes ids over, stores events and reads them.

use std::fmt;

use actix_persistence_storage_api::{
    PageLimit, PersistenceId, ReplayPage, ReplayRange, TakeOverRequest, TakenOver,
};

use super::{ConnectionOf, Driver, RowOf};
use crate::{Appended, AtOnce, Group, Opening, PageRequest, QueriedEvent, SqlError, SqlNames};

/// The work of a journal that each database does in statements of its own.
pub trait JournalDialect: Driver {
    /// The statements of the journal that only this database has.
    type JournalQueries: fmt::Debug + Send + Sync + 'static;

    /// True if [`append`](Self::append) and [`take_over`](Self::take_over) are one statement each, which commits by itself.
    ///
    /// Otherwise they run between [`BEGIN`](crate::TransactionDialect::BEGIN) and [`COMMIT`](crate::TransactionDialect::COMMIT).
    const ONE_STATEMENT: bool;

    /// True if all work begins that transaction itself where it can, because each statement by itself costs a wait for
    /// another thread.
    const WORK_BEGINS: bool = false;

    /// The statements of the journal that only this database has.
    fn journal_queries(names: &SqlNames) -> Self::JournalQueries;

    /// Raises the epochs of all requests, which are of different ids, and answers in their order.
    fn take_over(
        connection: &mut ConnectionOf<Self>,
        queries: &Self::JournalQueries,
        requests: Vec<TakeOverRequest>,
        opening: Opening,
    ) -> impl Future<Output = Result<Vec<TakenOver>, SqlError>> + Send;

    /// Stores the events of all ids whose epoch and highest number are what the head says, and raises that number.
    ///
    /// Returns the ids that lost, and the numbers of the events if the group asks for them and none lost.
    fn append(
        connection: &mut ConnectionOf<Self>,
        queries: &Self::JournalQueries,
        group: Group,
        opening: Opening,
    ) -> impl Future<Output = Result<Appended, SqlError>> + Send;

    /// Returns whether [`append`](Self::append) begins the transaction for a group, with what comes first.
    fn begins_append(_group: &Group) -> bool {
        false
    }

    /// Returns whether [`append_at_once`](Self::append_at_once) is worth a try.
    fn stores_at_once(_group: &Group) -> bool {
        false
    }

    /// Stores a group as [`append`](Self::append) does, in a transaction that it begins and commits by itself: fewer waits for
    /// the database. Leaves a group of which an id loses to `append`, which says which one.
    fn append_at_once(
        _connection: &mut ConnectionOf<Self>,
        _queries: &Self::JournalQueries,
        _group: Group,
    ) -> impl Future<Output = Result<AtOnce<Appended>, SqlError>> + Send {
        async { Ok(AtOnce::NotBegun) }
    }

    /// Stores a group as [`append`](Self::append) does, in a transaction in which other things were done before, which it
    /// neither ends nor undoes: if an id lost, the caller must not commit.
    fn append_within(
        connection: &mut ConnectionOf<Self>,
        queries: &Self::JournalQueries,
        group: Group,
    ) -> impl Future<Output = Result<Vec<PersistenceId>, SqlError>> + Send {
        async {
            let appended = Self::append(connection, queries, group, Opening::Done);
            Ok(appended.await?.losers)
        }
    }

    /// Reads events of an id from the lowest on, and what is deleted, as of one moment.
    fn read_page(
        connection: &mut ConnectionOf<Self>,
        queries: &Self::JournalQueries,
        id: &PersistenceId,
        range: ReplayRange,
        limit: PageLimit,
    ) -> impl Future<Output = Result<ReplayPage, SqlError>> + Send;

    /// The most ids whose heads [`read_heads`](Self::read_heads) reads at once; 1 if it reads none.
    const SHARED_HEADS: usize = 1;

    /// Reads the heads of several ids by one statement that returns the columns of
    /// [`JournalStatements::head`](crate::JournalStatements::head), in any order, and after them the place of the id, from 1.
    fn read_heads(
        _connection: &mut ConnectionOf<Self>,
        _queries: &Self::JournalQueries,
        _ids: &[PersistenceId],
    ) -> impl Future<Output = Result<Vec<RowOf<Self>>, SqlError>> + Send {
        async { Ok(Vec::new()) }
    }

    /// The most requests of pages that [`read_pages`](Self::read_pages) answers at once; 1 if it answers none.
    const SHARED_PAGES: usize = 1;

    /// Returns whether a page of a range may be read with others.
    fn shares_page(_queries: &Self::JournalQueries, _range: ReplayRange) -> bool {
        false
    }

    /// Reads a page as [`read_page`](Self::read_page) does for each of several requests; `None` for one that is to be read by
    /// itself.
    fn read_pages(
        _connection: &mut ConnectionOf<Self>,
        _queries: &Self::JournalQueries,
        requests: &[PageRequest],
    ) -> impl Future<Output = Result<Vec<Option<ReplayPage>>, SqlError>> + Send {
        let none = requests.iter().map(|_| None).collect();
        async { Ok(none) }
    }

    /// Takes the events out of a row of the statement [`EventTexts::small`](crate::EventTexts::small); `None` if each has a row of
    /// its own.
    fn unpack_events(_row: &RowOf<Self>) -> Option<Result<Vec<QueriedEvent>, SqlError>> {
        None
    }

    /// True if [`check_journal`](Self::check_journal) looks at anything.
    const CHECKS_JOURNAL: bool = false;

    /// Fails if events are missing that were stored, as far as the tables of a journal show when they are opened.
    fn check_journal(
        _connection: &mut ConnectionOf<Self>,
        _queries: &Self::JournalQueries,
    ) -> impl Future<Output = Result<(), SqlError>> + Send {
        async { Ok(()) }
    }
}
