//! Cleaning up beside actors.

use std::sync::Arc;

use actix_persistence::memory::MemoryJournal;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::Operation;
use actix_persistence::{
    SnapshotCriteria, Timestamp,
    cleanup::{CleanupError, CleanupStores, Numbers, Task},
};
use actix_persistence_testkit::Intercepted;

use crate::counter::{Count, Counter};
use crate::note::{Note, Write};

fn id() -> PersistenceId {
    PersistenceId::of("Counter", "1")
}

fn note_id() -> PersistenceId {
    PersistenceId::of("Note", "1")
}

async fn highest(persistence: &Persistence) -> u64 {
    let replayed = persistence.replay(Counter::named("1")).await;
    replayed.unwrap().sequence_nr
}

#[actix::test]
async fn an_id_is_cleaned_up_only_after_its_actor_is_gone() {
    let persistence = Persistence::memory().await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    assert_eq!(counter.send(Count(5)).await.unwrap().unwrap(), 5);
    let cleanup = persistence.cleanup();
    for task in [
        Task::DeleteEventsTo(1),
        Task::DeleteEventsBefore(Timestamp::MAX),
        Task::DeleteAllEvents(Numbers::Keep),
        Task::DeleteAllEvents(Numbers::Reset),
        Task::DeleteSnapshots(SnapshotCriteria::LATEST),
        Task::DeleteAll(Numbers::Reset),
    ] {
        let refused = cleanup.run(task, &id()).await;
        assert!(
            matches!(&refused, Err(CleanupError::Running(running)) if *running == id()),
            "{task:?}: {refused:?}"
        );
        assert!(!task.allows_running_actors());
    }
    let allowed = Task::CleanupBeforeSnapshot;
    cleanup.run(allowed, &id()).await.unwrap();
    assert!(allowed.allows_running_actors());
    assert_eq!(counter.send(Count(5)).await.unwrap().unwrap(), 10);

    drop(counter);
    let all = Task::DeleteAll(Numbers::Reset);
    while let Err(error) = cleanup.run(all, &id()).await {
        // Until its task has noticed that its last address is gone.
        assert!(matches!(error, CleanupError::Running(_)), "{error:?}");
        tokio::task::yield_now().await;
    }
    assert_eq!(highest(&persistence).await, 0);
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    assert_eq!(counter.send(Count(1)).await.unwrap().unwrap(), 1);
    assert_eq!(highest(&persistence).await, 1);
}

#[actix::test]
async fn no_actor_is_started_while_its_id_is_cleaned_up() {
    let journal = Intercepted::journal(MemoryJournal::new());
    let deletes = journal.on(Operation::DeleteMessagesTo).hold();
    let persistence = Persistence::builder().journal("held", Arc::new(journal));
    let persistence = persistence.open().await.unwrap();
    let cleanup = persistence.cleanup();
    let id = id();
    let mut deleting = Box::pin(cleanup.delete_all(&id, Numbers::Keep));
    assert!(futures_util::poll!(&mut deleting).is_pending());
    let refused = persistence.start(|| Counter::named("1")).err();
    assert_eq!(refused, Some(StartError::Reserved(id.clone())));
    assert!(persistence.start(|| Counter::named("2")).is_ok());
    deletes.release(1);
    deleting.await.unwrap();
    assert!(persistence.start(|| Counter::named("1")).is_ok());
}

#[actix::test]
async fn nothing_is_cleaned_up_once_everything_stops() {
    let persistence = Persistence::memory().await.unwrap();
    persistence.stop(std::time::Duration::from_secs(10)).await;
    let refused = persistence.cleanup().delete_events_to(&id(), 1).await;
    assert!(
        matches!(refused, Err(CleanupError::Stopping)),
        "{refused:?}"
    );
}

#[actix::test]
async fn a_state_is_refused_while_its_actor_is_running() {
    let persistence = Persistence::memory().await.unwrap();
    let note = persistence.start(|| Note::named("1")).unwrap();
    note.send(Write('a')).await.unwrap().unwrap();
    let (cleanup, id) = (persistence.cleanup(), note_id());
    for numbers in [Numbers::Keep, Numbers::Reset] {
        let refused = cleanup.delete_state(&id, numbers).await;
        assert!(
            matches!(refused, Err(CleanupError::Running(_))),
            "{refused:?}"
        );
    }
    assert_eq!(note.send(Write('b')).await.unwrap().unwrap(), "ab");

    drop(note);
    while let Err(error) = cleanup.delete_state(&id, Numbers::Keep).await {
        // Until its task has noticed that its last address is gone.
        assert!(matches!(error, CleanupError::Running(_)), "{error:?}");
        tokio::task::yield_now().await;
    }
    let note = persistence.start(|| Note::named("1")).unwrap();
    assert_eq!(note.send(Write('c')).await.unwrap().unwrap(), "c");
}

#[actix::test]
async fn a_store_that_is_not_there_is_told() {
    let persistence = Persistence::memory().await.unwrap();
    for stores in [
        CleanupStores::default().with_journal("ledger"),
        CleanupStores::default().with_snapshot_store("ledger"),
        CleanupStores::default().with_state_store("ledger"),
    ] {
        let error = persistence.cleanup_of(&stores).err().unwrap();
        assert!(
            error.to_string().contains("'ledger'; known are: memory"),
            "{error}"
        );
    }
    let named = CleanupStores::default().with_journal("persistence.journal.memory");
    let cleanup = persistence.cleanup_of(&named).unwrap();
    cleanup.delete_events_to(&id(), 1).await.unwrap();
}
