//! The order in which queries read changes: docs/adr/0005-commit-order.md.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, PersistenceId, Revision, Session, StateChange,
    StateChangesQuery, StateDelete, StateExtensions, StateStore, StorageErrorKind,
};
use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::time::sleep;

use crate::Tables;

use super::{id, state, store};

const WRITERS: usize = 6;
const IDS: usize = 3;
const REVISIONS: Revision = 30;

/// Makes transactions of any length, and ends some of them by a rollback.
struct Unsteady;

#[async_trait]
impl ChangeHandler for Unsteady {
    async fn process(
        &self,
        _session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        match fastrand::u8(0..8) {
            0 => return Err("it is rolled back".into()),
            1..4 => sleep(Duration::from_micros(fastrand::u64(0..5_000))).await,
            _ => {}
        }
        Ok(())
    }
}

/// Reads on from where it is, page by page, as a program that builds on changes does.
struct Reader {
    store: Arc<dyn StateStore>,
    query: StateChangesQuery,
    seen: BTreeMap<PersistenceId, Revision>,
}

impl Reader {
    /// Reads a page of at most this number; returns whether there is more.
    async fn read(&mut self, limit: usize) -> bool {
        self.query.limit = limit;
        let queries = self.store.queries().expect("there are queries");
        let page = queries.changes(self.query.clone()).await;
        let page = page.expect("the changes can be read");
        assert!(page.changes.len() <= limit);
        for change in page.changes {
            let (id, revision) = (change.persistence_id, change.current.revision);
            let before = self.seen.insert(id.clone(), revision);
            assert!(
                before < Some(revision),
                "{id:?}: {revision} after {before:?}"
            );
        }
        self.query.after = page.offset;
        page.more
    }
}

/// Checks that a reader of small pages misses no last state while many writers pause and roll back within their
/// transactions, and that it sees the revisions of each id in order.
///
/// # Panics
/// If the reader misses a last state, or sees a revision after a higher one of the same id.
pub async fn a_reader_gets_every_last_state_while_transactions_end_in_any_order(
    tables: &dyn Tables,
) {
    let mut extensions = StateExtensions::default();
    extensions.entity_type("Test").change_handler = Some(Arc::new(Unsteady));
    let stores = [
        tables.open_with(&extensions).await,
        tables.open_with(&extensions).await,
    ];
    let writers = (0..WRITERS).map(|writer| write(Arc::clone(&stores[writer % 2]), writer));
    let writing = tokio::spawn(join_all(writers.map(tokio::spawn)));
    let mut reader = Reader {
        store: tables.open().await,
        query: StateChangesQuery::new("Test", 1),
        seen: BTreeMap::new(),
    };
    while !writing.is_finished() {
        reader.read(fastrand::usize(1..5)).await;
    }
    for writer in writing.await.expect("all writers were started") {
        writer.expect("no writer fails");
    }
    // Stored after everything else: when it is there, everything else was.
    store(&*reader.store, state("last", 1)).await;
    while reader.read(3).await || !reader.seen.contains_key(&id("last")) {}

    let mut expected: BTreeMap<_, _> = (0..WRITERS * IDS)
        .map(|number| (id(&number.to_string()), REVISIONS))
        .collect();
    expected.insert(id("last"), 1);
    assert_eq!(reader.seen, expected);
}

/// Brings some ids to the last revision, in turns.
async fn write(store: Arc<dyn StateStore>, writer: usize) {
    for revision in 1..=REVISIONS {
        for number in 0..IDS {
            let name = (writer * IDS + number).to_string();
            write_one(&*store, &name, revision).await;
        }
    }
}

async fn write_one(store: &dyn StateStore, name: &str, revision: Revision) {
    loop {
        let result = if revision.is_multiple_of(5) && revision < REVISIONS {
            store.delete(StateDelete::new(id(name), revision)).await
        } else {
            store.upsert(state(name, revision)).await
        };
        match result {
            Ok(()) => return,
            Err(error) => assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}"),
        }
    }
}
