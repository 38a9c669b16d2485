//! Deleting events: the same on every database.

use actix_persistence_cleanup::{Numbers, Task};
use actix_persistence_storage_api::Timestamp;

use crate::world::{Stream, World, fresh_id};

/// Does it twice, because the second time must change nothing.
async fn twice(world: &World, task: Task, id: &actix_persistence_storage_api::PersistenceId) {
    for _ in 0..2 {
        world.cleanup.run(task, id).await.unwrap();
    }
}

pub(crate) async fn events_up_to_a_number_are_deleted(world: &World) {
    let id = fresh_id();
    world.events(&id, 8).await;
    let preview = world.cleanup.preview(Task::DeleteEventsTo(5), &id).await;
    assert_eq!(preview.unwrap().events, Some((1, 5)));
    twice(world, Task::DeleteEventsTo(5), &id).await;
    assert_eq!(world.stream(&id).await, Stream::of(6..=8, 8));
    let preview = world.cleanup.preview(Task::DeleteEventsTo(5), &id).await;
    assert!(preview.unwrap().is_empty());
    // Nothing is deleted in advance.
    twice(world, Task::DeleteEventsTo(100), &id).await;
    assert_eq!(world.stream(&id).await, Stream::of([], 8));
    world.events(&id, 1).await;
    assert_eq!(world.stream(&id).await, Stream::of([9], 9));
}

pub(crate) async fn events_before_a_moment_are_deleted_and_the_numbers_go_on(world: &World) {
    let id = fresh_id();
    // The clock was set back: 15 comes again behind 30.
    world.events_at(&id, &[10, 20, 30, 15, 40]).await;
    let before = |micros| Task::DeleteEventsBefore(Timestamp::from_micros(micros));
    twice(world, before(10), &id).await;
    assert_eq!(world.stream(&id).await, Stream::of(1..=5, 5));
    let preview = world.cleanup.preview(before(30), &id).await.unwrap();
    assert_eq!(preview.events, Some((1, 2)));
    twice(world, before(30), &id).await;
    assert_eq!(world.stream(&id).await, Stream::of(3..=5, 5));
    twice(world, before(1_000), &id).await;
    assert_eq!(world.stream(&id).await, Stream::of([], 5));
    world.events(&id, 1).await;
    assert_eq!(world.stream(&id).await, Stream::of([6], 6));
}

pub(crate) async fn events_before_a_moment_are_found_over_many_pages(world: &World) {
    let id = fresh_id();
    world.events(&id, 2_500).await;
    let task = Task::DeleteEventsBefore(Timestamp::from_micros(2_300));
    twice(world, task, &id).await;
    assert_eq!(world.stream(&id).await, Stream::of(2_300..=2_500, 2_500));
}

pub(crate) async fn all_events_are_deleted_and_numbers_are_kept(world: &World) {
    let id = fresh_id();
    let task = Task::DeleteAllEvents(Numbers::Keep);
    let writer = world.events(&id, 2_500).await;
    twice(world, task, &id).await;
    assert_eq!(world.stream(&id).await, Stream::of([], 2_500));
    // Who recovered before goes on.
    assert!(world.write_one(&writer, 2_501).await.is_stored());
}

pub(crate) async fn all_events_are_deleted_and_numbers_are_reset(world: &World) {
    let id = fresh_id();
    let task = Task::DeleteAllEvents(Numbers::Reset);
    let zombie = world.events(&id, 2_500).await;
    let preview = world.cleanup.preview(task, &id).await.unwrap();
    assert_eq!(
        (preview.events, preview.reset_from),
        (Some((1, 2_500)), Some(2_500))
    );
    twice(world, task, &id).await;
    assert_eq!(world.stream(&id).await, Stream::of([], 0));
    for number in [1, 2_501] {
        let outcome = world.write_one(&zombie, number).await;
        assert!(!outcome.is_stored(), "{outcome:?}");
    }
    let writer = world.events(&id, 3).await;
    assert_eq!(writer.recovered.highest_sequence_nr, 0);
    assert_eq!(world.stream(&id).await, Stream::of(1..=3, 3));
    assert!(!world.write_one(&zombie, 4).await.is_stored());
}

pub(crate) async fn an_id_never_seen_is_left_without_a_trace(world: &World) {
    let id = fresh_id();
    for task in [
        Task::DeleteEventsTo(5),
        Task::DeleteEventsBefore(Timestamp::MAX),
        Task::DeleteAllEvents(Numbers::Keep),
        Task::DeleteAllEvents(Numbers::Reset),
        Task::CleanupBeforeSnapshot,
        Task::DeleteAll(Numbers::Keep),
        Task::DeleteAll(Numbers::Reset),
        Task::DeleteState(Numbers::Keep),
        Task::DeleteState(Numbers::Reset),
    ] {
        let preview = world.cleanup.preview(task, &id).await.unwrap();
        assert!(preview.is_empty(), "{preview}");
        twice(world, task, &id).await;
    }
    let state = world.state_store.get(id.clone()).await.unwrap();
    assert_eq!(state.revision, 0);
    let recovered = world.recover(&id).await.recovered;
    assert_eq!((recovered.epoch, recovered.highest_sequence_nr), (1, 0));
}
