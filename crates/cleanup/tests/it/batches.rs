//! Cleaning up many ids.

use std::error::Error;
use std::sync::{Arc, Mutex};

use actix_persistence_cleanup::{CleanupError, Numbers, Progress, Task};
use actix_persistence_storage_api::PersistenceId;
use futures_util::stream;

use crate::faulty_journal::FaultyJournal;
use crate::world::{Stream, World, fresh_id};

async fn with_events(world: &World, ids: usize) -> Vec<PersistenceId> {
    let ids: Vec<_> = (0..ids).map(|_| fresh_id()).collect();
    for id in &ids {
        world.events(id, 3).await;
    }
    ids
}

pub(crate) async fn a_list_is_done_by_several_at_once(world: &World) {
    let mut ids = with_events(world, 25).await;
    // One that is there twice is no mistake.
    ids.push(ids[24].clone());
    let batch = world.cleanup.batch(Task::DeleteAll(Numbers::Reset));
    let report = batch.parallelism(4).run(ids.clone()).await.unwrap();
    assert_eq!(report.done, 26);
    for id in &ids {
        assert_eq!(world.stream(id).await, Stream::of([], 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_of_ten_thousand_ids() {
    let world = World::in_memory();
    let ids: Vec<_> = (0..10_000).map(|_| fresh_id()).collect();
    for id in ids.iter().step_by(100) {
        world.events(id, 2).await;
    }
    let told = Arc::new(Mutex::new(Vec::new()));
    let teller = Arc::clone(&told);
    let batch = world
        .cleanup
        .batch(Task::DeleteEventsTo(1))
        .parallelism(8)
        .on_progress(1_000, move |progress: &Progress| {
            let last = progress.persistence_id.clone();
            teller.lock().unwrap().push((progress.done, last));
        });
    let report = batch.run_stream(stream::iter(ids.clone())).await.unwrap();
    assert_eq!(report.done, 10_000);
    let expected: Vec<_> = (1..=10)
        .map(|thousands| {
            (
                thousands * 1_000,
                ids[thousands as usize * 1_000 - 1].clone(),
            )
        })
        .collect();
    assert_eq!(*told.lock().unwrap(), expected);
    assert_eq!(world.stream(&ids[100]).await, Stream::of([2], 2));
}

#[tokio::test]
async fn it_stops_at_the_first_id_that_fails_and_goes_on_from_there() {
    let journal = Arc::new(FaultyJournal::allowing(7));
    let world = World::on_journal(Arc::clone(&journal) as _);
    let ids = with_events(&world, 20).await;
    let task = Task::DeleteAllEvents(Numbers::Keep);
    let error = world.cleanup.batch(task).run(ids.clone()).await;
    let error = error.unwrap_err();
    assert_eq!((error.index, &error.persistence_id), (7, &ids[7]));
    assert!(error.source().unwrap().source().is_some());
    for (index, id) in ids.iter().enumerate() {
        let left = if index < 7 { 0..0 } else { 1..4 };
        assert_eq!(world.stream(id).await, Stream::of(left, 3), "{index}");
    }

    journal.allow(100);
    let rest = ids.iter().skip(error.index as usize).cloned();
    let report = world.cleanup.batch(task).run(rest).await.unwrap();
    assert_eq!(report.done, 13);
    for id in &ids {
        assert_eq!(world.stream(id).await, Stream::of([], 3));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_ids_before_the_one_that_fails_are_done_with_several_at_once() {
    let world = World::in_memory();
    let ids = with_events(&world, 40).await;
    // An id that no store takes.
    let mut list = ids.clone();
    list.insert(23, PersistenceId::of_unique(""));
    let batch = world.cleanup.batch(Task::DeleteAllEvents(Numbers::Keep));
    let error = batch.parallelism(6).run(list).await.unwrap_err();
    assert_eq!(error.index, 23);
    assert!(
        matches!(error.source, CleanupError::Storage(_)),
        "{error:?}"
    );
    for id in &ids[..23] {
        assert_eq!(world.stream(id).await, Stream::of([], 3));
    }
    // Not many were begun behind it.
    for id in &ids[23 + 6..] {
        assert_eq!(world.stream(id).await, Stream::of(1..=3, 3));
    }
}

#[tokio::test]
async fn a_list_that_ends_early_ends_the_batch() {
    let world = World::in_memory();
    let ids = with_events(&world, 5).await;
    let batch = world.cleanup.batch(Task::DeleteEventsTo(3));
    let report = batch.run(ids.iter().take(2).cloned()).await.unwrap();
    assert_eq!(report.done, 2);
    assert_eq!(world.stream(&ids[2]).await, Stream::of(1..=3, 3));
    let none = world.cleanup.batch(Task::DeleteEventsTo(3)).run([]).await;
    assert_eq!(none.unwrap().done, 0);
}
