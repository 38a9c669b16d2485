//! Deleting snapshots, and what they cover: the same on every database.

use actix_persistence_cleanup::{CleanupError, Numbers, Task};
use actix_persistence_storage_api::SnapshotCriteria;

use crate::world::{Stream, World, fresh_id};

pub(crate) async fn snapshots_are_deleted_and_events_stay(world: &World) {
    let id = fresh_id();
    world.events(&id, 6).await;
    world.snapshots_at(&id, &[2, 4, 6]).await;
    let task = Task::DeleteSnapshots(SnapshotCriteria::up_to(4));
    let preview = world.cleanup.preview(task, &id).await.unwrap();
    assert_eq!(preview.snapshots_to, Some(4));
    for _ in 0..2 {
        world.cleanup.run(task, &id).await.unwrap();
        assert_eq!(world.snapshots(&id).await, [6]);
    }
    let all = SnapshotCriteria::LATEST;
    world.cleanup.delete_snapshots(&id, all).await.unwrap();
    assert_eq!(world.snapshots(&id).await, [0; 0]);
    assert_eq!(world.stream(&id).await, Stream::of(1..=6, 6));
}

pub(crate) async fn what_the_latest_snapshot_covers_is_deleted(world: &World) {
    let id = fresh_id();
    world.events(&id, 8).await;
    world.cleanup.cleanup_before_snapshot(&id).await.unwrap();
    assert_eq!(world.stream(&id).await, Stream::of(1..=8, 8));
    world.snapshots_at(&id, &[2, 4, 6]).await;
    let preview = world.cleanup.preview(Task::CleanupBeforeSnapshot, &id);
    let preview = preview.await.unwrap();
    assert_eq!(preview.events, Some((1, 6)));
    assert_eq!(preview.snapshots_to, Some(4));
    for _ in 0..2 {
        world.cleanup.cleanup_before_snapshot(&id).await.unwrap();
        assert_eq!(world.stream(&id).await, Stream::of(7..=8, 8));
        assert_eq!(world.snapshots(&id).await, [6]);
    }
}

pub(crate) async fn a_snapshot_beyond_the_journal_covers_nothing(world: &World) {
    let id = fresh_id();
    world.events(&id, 3).await;
    world.snapshots_at(&id, &[2, 7]).await;
    let error = world.cleanup.cleanup_before_snapshot(&id).await;
    let Err(CleanupError::SnapshotAhead {
        snapshot, highest, ..
    }) = error
    else {
        panic!("{error:?}");
    };
    assert_eq!((snapshot, highest), (7, 3));
    assert_eq!(world.stream(&id).await, Stream::of(1..=3, 3));
    assert_eq!(world.snapshots(&id).await, [7, 2]);
}

pub(crate) async fn events_and_snapshots_are_deleted_together(world: &World) {
    for (numbers, highest) in [(Numbers::Keep, 5), (Numbers::Reset, 0)] {
        let (id, neighbour) = (fresh_id(), fresh_id());
        for id in [&id, &neighbour] {
            world.events(id, 5).await;
            world.snapshots_at(id, &[2, 4]).await;
        }
        let preview = world.cleanup.preview(Task::DeleteAll(numbers), &id).await;
        let preview = preview.unwrap();
        assert_eq!(preview.events, Some((1, 5)));
        assert_eq!(preview.snapshots_to, Some(4));
        for _ in 0..2 {
            world.cleanup.delete_all(&id, numbers).await.unwrap();
            assert_eq!(world.stream(&id).await, Stream::of([], highest));
            assert_eq!(world.snapshots(&id).await, [0; 0]);
        }
        assert_eq!(world.stream(&neighbour).await, Stream::of(1..=5, 5));
        assert_eq!(world.snapshots(&neighbour).await, [4, 2]);
    }
}
