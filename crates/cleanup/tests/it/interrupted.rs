//! Cleaning up that is broken off, and done again.

use std::sync::Arc;

use actix_persistence_cleanup::{CleanupError, Numbers};
use actix_persistence_storage_api::{Operation, StorageErrorKind};

use crate::faulty_journal::FaultyJournal;
use crate::world::{Stream, World, fresh_id};

#[tokio::test]
async fn another_purge_finishes_one_that_failed_at_any_step() {
    // Three events: three steps, and the last one that forgets the numbers.
    for allowed in 0..4 {
        let journal = Arc::new(FaultyJournal::allowing(allowed));
        let world = World::on_journal(Arc::clone(&journal) as _);
        let id = fresh_id();
        let before = world.events(&id, 3).await;
        world.snapshots_at(&id, &[2]).await;

        let failed = world.cleanup.delete_all(&id, Numbers::Reset).await;
        let Err(CleanupError::Storage(error)) = failed else {
            panic!("{failed:?}");
        };
        assert_eq!(error.kind(), StorageErrorKind::Backend);
        assert_eq!(error.operation(), Operation::Purge);
        let left = if allowed == 0 { 1..4 } else { 0..0 };
        assert_eq!(world.stream(&id).await, Stream::of(left, 3));
        assert_eq!(world.snapshots(&id).await, [2], "they go after the events");

        journal.allow(100);
        world.cleanup.delete_all(&id, Numbers::Reset).await.unwrap();
        assert_eq!(world.stream(&id).await, Stream::of([], 0));
        assert_eq!(world.snapshots(&id).await, [0; 0]);
        assert!(!world.write_one(&before, 4).await.is_stored());
    }
}

#[tokio::test]
async fn what_a_snapshot_covers_is_kept_if_its_events_cannot_be_deleted() {
    let journal = Arc::new(FaultyJournal::allowing(0));
    let world = World::on_journal(Arc::clone(&journal) as _);
    let id = fresh_id();
    world.events(&id, 5).await;
    world.snapshots_at(&id, &[2, 4]).await;
    let failed = world.cleanup.cleanup_before_snapshot(&id).await;
    assert!(
        matches!(failed, Err(CleanupError::Storage(_))),
        "{failed:?}"
    );
    assert_eq!(world.snapshots(&id).await, [4, 2]);

    journal.allow(1);
    world.cleanup.cleanup_before_snapshot(&id).await.unwrap();
    assert_eq!(world.stream(&id).await, Stream::of([5], 5));
    assert_eq!(world.snapshots(&id).await, [4]);
}

#[tokio::test]
async fn dropped_at_any_moment_it_is_finished_by_another() {
    for polls in 0..30 {
        let world = World::on_journal(Arc::new(FaultyJournal::allowing(1_000)));
        let id = fresh_id();
        world.events(&id, 3).await;
        world.snapshots_at(&id, &[2]).await;
        let mut dropped = Box::pin(world.cleanup.delete_all(&id, Numbers::Reset));
        for _ in 0..polls {
            if futures_util::poll!(&mut dropped).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(dropped);
        world.cleanup.delete_all(&id, Numbers::Reset).await.unwrap();
        assert_eq!(world.stream(&id).await, Stream::of([], 0));
        assert_eq!(world.snapshots(&id).await, [0; 0]);
        // The id is not reserved any more.
        drop(world.live_ids.reserve(&id).unwrap());
    }
}

#[tokio::test]
async fn without_a_store_it_is_told_which_one_is_missing() {
    let world = World::in_memory();
    let id = fresh_id();
    world.events(&id, 2).await;
    let nothing = actix_persistence_cleanup::Cleanup::new();
    let missing = |result: Result<(), CleanupError>| match result {
        Err(CleanupError::NoStore { store }) => store,
        other => panic!("{other:?}"),
    };
    assert_eq!(missing(nothing.delete_events_to(&id, 1).await), "journal");
    assert_eq!(
        missing(nothing.delete_state(&id, Numbers::Keep).await),
        "state store"
    );
    let no_snapshots = nothing.with_journal(world.journal.clone(), world.live_ids.clone());
    assert_eq!(
        missing(no_snapshots.cleanup_before_snapshot(&id).await),
        "snapshot store"
    );
    no_snapshots.delete_all(&id, Numbers::Keep).await.unwrap();
    assert_eq!(world.stream(&id).await, Stream::of([], 2));
}
