//! Rows that others changed around the stores.

use std::sync::Arc;

use actix_persistence_storage_api::{
    Journal, PageLimit, Payload, PersistenceId, ReplayRange, SnapshotCriteria, SnapshotMetadata,
    SnapshotStore, StateStore, StateUpdate, StorageError, StorageErrorKind, Timestamp,
    WriteOutcome,
};

use crate::Tables;
use crate::steps::{assert_error, chain, id, store};
use crate::writer::Writer;

/// Rows that have what belongs to others are errors that say whose they are; rows that lack a checksum are read.
///
/// # Panics
/// If they are not.
pub async fn rows_that_were_swapped_are_found(tables: &dyn Tables) {
    let snapshots = tables.snapshot_store().await;
    let (states, journal) = tables.open_with_change_events().await;
    let (a, b) = (
        PersistenceId::of("Test", "a"),
        PersistenceId::of("Test", "b"),
    );
    for id in [&a, &b] {
        let (writer, _) = Writer::take_over(&*journal, id)
            .await
            .expect("it can be recovered");
        for number in 1..=3 {
            let outcome = writer.write(&*journal, number).await;
            assert!(matches!(outcome, Ok(WriteOutcome::Stored)), "{outcome:?}");
            let metadata = SnapshotMetadata::new(id.clone(), number, Timestamp::from_micros(7));
            let payload = Payload::new(1, "m", number.to_be_bytes().to_vec());
            let saved = snapshots.save(metadata, payload).await;
            saved.expect("it can be saved");
        }
    }
    for (name, number) in [("a2", 1), ("b2", 1)] {
        let id = PersistenceId::of("Test", name);
        let update = StateUpdate::new(id, number, Payload::new(1, "m", name.as_bytes().to_vec()));
        states.upsert(update).await.expect("it can be stored");
    }

    let events = |id: &PersistenceId| replay(&*journal, id.clone());
    // Neighbours of one id.
    renumber(tables, "event_journal", &[(2, 1_000), (3, 2), (1_000, 3)]).await;
    assert_corrupt(events(&a).await, &a, "sequence number 2");
    renumber(tables, "event_journal", &[(2, 1_000), (3, 2), (1_000, 3)]).await;
    assert!(events(&a).await.is_ok());
    // The same number of two ids.
    swap_ids(
        tables,
        "event_journal",
        "sequence_nr = 2",
        ["Test|a", "Test|b"],
    )
    .await;
    assert_corrupt(events(&a).await, &a, "sequence number 2");
    assert_corrupt(events(&b).await, &b, "sequence number 2");
    tables.run("UPDATE event_journal SET checksum = NULL").await;
    assert!(events(&a).await.is_ok());

    renumber(tables, "snapshot", &[(2, 1_000), (3, 2), (1_000, 3)]).await;
    let loaded = snapshots.load(&a, SnapshotCriteria::LATEST).await;
    assert_corrupt(loaded.map(drop), &a, "sequence number 3");
    let loaded = snapshots.load(&a, SnapshotCriteria::up_to(1)).await;
    assert!(loaded.is_ok_and(|snapshot| snapshot.is_some()));
    tables.run("UPDATE snapshot SET checksum = NULL").await;
    assert!(snapshots.load(&a, SnapshotCriteria::LATEST).await.is_ok());

    let a2 = PersistenceId::of("Test", "a2");
    swap_ids(
        tables,
        "durable_state",
        "revision = 1",
        ["Test|a2", "Test|b2"],
    )
    .await;
    assert_corrupt(states.get(&a2).await.map(drop), &a2, "revision 1");
    tables.run("UPDATE durable_state SET checksum = NULL").await;
    assert!(states.get(&a2).await.is_ok());
}

async fn replay(journal: &dyn Journal, id: PersistenceId) -> Result<(), StorageError> {
    let page = journal.replay_messages(&id, ReplayRange::ALL, PageLimit::DEFAULT);
    page.await.map(|page| assert_eq!(page.events.len(), 3))
}

async fn renumber(tables: &dyn Tables, table: &str, steps: &[(u64, u64)]) {
    for (from, to) in steps {
        let sql = format!(
            "UPDATE {table} SET sequence_nr = {to} WHERE persistence_id = 'Test|a' AND sequence_nr = {from}"
        );
        tables.run(&sql).await;
    }
}

async fn swap_ids(tables: &dyn Tables, table: &str, of: &str, ids: [&str; 2]) {
    let [one, other] = ids;
    for (from, to) in [(one, "Test|nobody"), (other, one), ("Test|nobody", other)] {
        let sql = format!(
            "UPDATE {table} SET persistence_id = '{to}' WHERE persistence_id = '{from}' AND {of}"
        );
        tables.run(&sql).await;
    }
}

fn assert_corrupt(read: Result<(), StorageError>, id: &PersistenceId, place: &str) {
    let error = read.expect_err("what belongs to another row was read");
    assert_eq!(error.kind(), StorageErrorKind::Corrupt, "{error:?}");
    let text = error.to_string();
    let names = [format!("{id:?}"), place.to_owned(), "checksum".to_owned()];
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
}

/// A store of each kind; the id `a` has two events, a snapshot and a state.
pub struct OneOfEach {
    journal: Arc<dyn Journal>,
    snapshots: Arc<dyn SnapshotStore>,
    states: Arc<dyn StateStore>,
}

impl OneOfEach {
    /// Opens the stores, and stores the events, the snapshot and the state.
    pub async fn store(tables: &dyn Tables) -> Self {
        let (journal, snapshots) = (tables.journal().await, tables.snapshot_store().await);
        let states = tables.open().await;
        store(&*journal, &id("a"), 2).await;
        let payload = || Payload::new(1, "m", vec![1]);
        let metadata = SnapshotMetadata::new(id("a"), 2, Timestamp::now());
        snapshots.save(metadata, payload()).await.unwrap();
        let state = StateUpdate::new(id("a"), 1, payload());
        states.upsert(state).await.unwrap();
        Self {
            journal,
            snapshots,
            states,
        }
    }

    /// Reads what was stored, after it was damaged: each read is refused as corrupt with these words, in a short error.
    ///
    /// # Panics
    /// If it is not.
    pub async fn is_refused(&self, says: &str) {
        let persistence_id = id("a");
        let range = ReplayRange::ALL;
        let page = (self.journal).replay_messages(&persistence_id, range, PageLimit::DEFAULT);
        let loaded = self
            .snapshots
            .load(&id("a"), SnapshotCriteria::LATEST)
            .await;
        for error in [
            page.await.unwrap_err(),
            loaded.unwrap_err(),
            self.states.get(&id("a")).await.unwrap_err(),
        ] {
            assert_error(&error, StorageErrorKind::Corrupt, says);
            assert!(chain(&error).len() < 500);
        }
    }
}
