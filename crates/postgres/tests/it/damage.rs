//! Rows that were damaged, or changed around the plugin.

use actix_persistence_sql_tests::swapped_rows_are_found;

use actix_persistence_storage_api::{
    Journal, PageLimit, Payload, ReplayRange, SnapshotCriteria, SnapshotMetadata, SnapshotStore,
    StateStore, StateUpdate, StorageErrorKind, Timestamp,
};

use crate::place::{Place, assert_error, chain, id, store};

#[tokio::test]
async fn rows_that_were_swapped_are_found() {
    let place = Place::new().await;
    let snapshots = place.snapshot_store().await;
    swapped_rows_are_found(&place, &snapshots).await;
}

#[tokio::test]
async fn rows_that_are_too_large_are_refused_by_their_size_and_not_fetched() {
    let place = Place::new().await;
    let (journal, snapshots) = (place.journal().await, place.snapshot_store().await);
    let states = place.state_store_with(place.options()).await;
    store(&journal, &id("a"), 2).await;
    let payload = || Payload::new(1, "m", vec![1]);
    let metadata = SnapshotMetadata::new(id("a"), 2, Timestamp::now());
    snapshots.save(metadata, payload()).await.unwrap();
    let state = StateUpdate::new(id("a"), 1, payload());
    states.upsert(state).await.unwrap();
    let large = |table: &str| {
        format!(
            "UPDATE {table} SET payload = repeat('0', 134217729)::bytea WHERE payload IS NOT NULL"
        )
    };
    let long = |table: &str, column: &str| {
        format!("UPDATE {table} SET payload = '', {column} = repeat('x', 2000000)")
    };
    for (event, snapshot, state, bytes) in [
        (
            large("event_journal"),
            large("snapshot"),
            large("durable_state"),
            "134217",
        ),
        (
            long("event_journal", "event_manifest"),
            long("snapshot", "manifest"),
            long("durable_state", "manifest"),
            "20000",
        ),
    ] {
        place.run(event).await;
        place.run(snapshot).await;
        place.run(state).await;
        let persistence_id = id("a");
        let page = journal.replay_messages(&persistence_id, ReplayRange::ALL, PageLimit::DEFAULT);
        let loaded = snapshots.load(&id("a"), SnapshotCriteria::LATEST).await;
        for error in [
            page.await.unwrap_err(),
            loaded.unwrap_err(),
            states.get(&id("a")).await.unwrap_err(),
        ] {
            let says = format!("it has {bytes}");
            assert_error(&error, StorageErrorKind::Corrupt, &says);
            assert!(chain(&error).len() < 500);
        }
    }
}
