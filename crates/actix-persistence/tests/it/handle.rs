//! The handle: starting, reading, reaching plugins.

use std::time::Duration;

use actix::prelude::*;
use actix_persistence::memory::MemoryJournal;
use actix_persistence::prelude::*;
use actix_persistence::sqlite::SqliteJournal;

use crate::counter::{Count, Counted, Counter, KnowsCurrent};

#[actix::test]
async fn an_actor_is_there_again_after_everything_was_closed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.db");
    for expected in [5, 10, 15] {
        let persistence = Persistence::sqlite(&file).await.unwrap();
        let counter = persistence.start(|| Counter::named("1")).unwrap();
        assert_eq!(counter.send(Count(5)).await.unwrap().unwrap(), expected);
        persistence.drained().await;
    }
}

#[actix::test]
async fn any_path_names_the_file_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("50%25 off? ü.db");
    let _persistence = Persistence::sqlite(&file).await.unwrap();
    assert!(file.exists());
}

#[actix::test]
async fn an_actor_works_on_another_arbiter_and_is_known_in_the_whole_process() {
    let persistence = Persistence::memory().await.unwrap();
    let arbiter = Arbiter::new();
    let counter = persistence
        .start_in(&arbiter.handle(), || Counter::named("1"))
        .await
        .unwrap();
    assert_eq!(counter.send(Count(5)).await.unwrap().unwrap(), 5);
    let refused = persistence.start(|| Counter::named("1")).err().unwrap();
    assert!(
        matches!(refused, StartError::AlreadyRunning(_)),
        "{refused}"
    );
    let handle = arbiter.handle();
    arbiter.stop();
    arbiter.join().unwrap();
    let refused = persistence.start_in(&handle, || Counter::named("2")).await;
    assert_eq!(refused.err(), Some(StartError::ArbiterStopped));
}

#[actix::test]
async fn the_stores_stay_open_as_long_as_an_actor_lives() {
    let persistence = Persistence::memory().await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    drop(persistence);
    assert_eq!(counter.send(Count(5)).await.unwrap().unwrap(), 5);
}

#[test]
fn the_first_handle_of_a_system_is_the_current_one_on_all_its_arbiters() {
    let system = System::new();
    system.block_on(async {
        assert!(Persistence::current().is_none());
        let persistence = Persistence::memory().await.unwrap();
        assert!(Persistence::current().is_some());
        let arbiter = Arbiter::new();
        let counter = persistence
            .start_in(&arbiter.handle(), || Counter::named("1"))
            .await
            .unwrap();
        assert!(counter.send(KnowsCurrent).await.unwrap());
        drop(persistence);
        assert!(Persistence::current().is_some(), "the actor holds it");
    });
    let other = System::new();
    other.block_on(async { assert!(Persistence::current().is_none(), "another system") });
}

#[actix::test]
async fn a_persistence_that_stops_is_the_current_one_only_if_there_is_no_other() {
    let first = Persistence::memory().await.unwrap();
    first.stop(Duration::ZERO).await;
    let current = || Persistence::current().unwrap();
    assert!(current().is_stopping(), "there is no other");
    let second = Persistence::memory().await.unwrap();
    assert!(!current().is_stopping());
    current().start(|| Counter::named("1")).unwrap();
    drop(second);
}

#[actix::test]
async fn a_stream_is_folded_without_starting_a_writer() {
    let persistence = Persistence::memory().await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    for n in [1, 2, 3] {
        counter.send(Count(n)).await.unwrap().unwrap();
    }
    let replayed = persistence.replay(Counter::named("1")).await.unwrap();
    assert_eq!((replayed.actor.count, replayed.sequence_nr), (6, 3));
    let mut seen = Vec::new();
    let id = PersistenceId::of("Counter", "1");
    persistence
        .replay_events(id, |meta, event: Counted| {
            seen.push((meta.sequence_nr, event.0))
        })
        .await
        .unwrap();
    assert_eq!(seen, [(1, 1), (2, 2), (3, 3)]);
    assert_eq!(
        counter.send(Count(4)).await.unwrap().unwrap(),
        10,
        "the writer goes on"
    );
    let invalid = persistence.replay(Counter::named("")).await.err().unwrap();
    assert!(
        invalid.to_string().contains("no valid persistence id"),
        "{invalid}"
    );
}

#[actix::test]
async fn a_plugin_is_reached_by_its_id_and_type() {
    let directory = tempfile::tempdir().unwrap();
    let persistence = Persistence::sqlite(directory.path().join("a.db"))
        .await
        .unwrap();
    assert!(persistence.journal::<SqliteJournal>("sqlite").is_some());
    assert!(
        persistence
            .journal::<SqliteJournal>("persistence.journal.sqlite")
            .is_some()
    );
    assert!(
        persistence.journal::<MemoryJournal>("sqlite").is_none(),
        "another type"
    );
    assert!(
        persistence.journal::<SqliteJournal>("other").is_none(),
        "another id"
    );
}

#[actix::test]
async fn an_unknown_plugin_id_is_refused_with_the_known_ones() {
    let persistence = Persistence::memory().await.unwrap();
    let start = persistence.start(|| Counter {
        journal: Some("acounts".to_owned()),
        ..Counter::named("1")
    });
    let error = start.err().unwrap().to_string();
    let expected = "there is no journal with the plugin id 'acounts'; known are: memory";
    assert_eq!(error, expected);
}

#[actix::test]
async fn without_a_configured_journal_starting_says_so() {
    let persistence = Persistence::builder().open().await.unwrap();
    let error = persistence
        .start(|| Counter::named("1"))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("no default journal"), "{error}");
}

#[test]
fn an_actor_that_may_cross_threads_is_replayed_on_any_thread() {
    fn is_send(_: &impl Send) {}
    actix::System::new().block_on(async {
        let persistence = Persistence::builder().memory().open().await.unwrap();
        let counter = persistence.start(|| Counter::named("1")).unwrap();
        counter.send(Count(1)).await.unwrap().unwrap();
        let replay = persistence.replay(Counter::named("1"));
        is_send(&replay);
        let threads = tokio::runtime::Builder::new_multi_thread()
            .enable_time()
            .build()
            .unwrap();
        let replayed = threads.spawn({
            let persistence = persistence.clone();
            async move { persistence.replay(Counter::named("1")).await }
        });
        assert_eq!(replayed.await.unwrap().unwrap().actor.count, 1);
        threads.shutdown_background();
        assert_eq!(replay.await.unwrap().sequence_nr, 1);
    });
}

#[actix::test]
async fn a_builder_goes_on_after_it_was_told_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.db");
    for expected in [5, 10] {
        let policy = StashPolicy::new(7, Overflow::Fail);
        let builder = Persistence::builder().sqlite(&file).stash_policy(policy);
        let persistence = builder.open().await.unwrap();
        assert_eq!(persistence.stash_policy().capacity(), 7);
        let counter = persistence.start(|| Counter::named("1")).unwrap();
        assert_eq!(counter.send(Count(5)).await.unwrap().unwrap(), expected);
        persistence.drained().await;
    }
}

#[actix::test]
async fn an_id_is_started_again_as_soon_as_the_end_of_its_actor_was_awaited() {
    let persistence = Persistence::memory().await.unwrap();
    let mut id = None;
    for expected in 1..=50 {
        let counter = persistence.start(|| Counter::named("1")).unwrap();
        assert_eq!(counter.send(Count(1)).await.unwrap().unwrap(), expected);
        let live = persistence.live_ids();
        assert_eq!(live.len(), 1);
        let id = id.insert(live[0].clone());
        drop(counter);
        assert!(matches!(
            persistence.start(|| Counter::named("1")),
            Err(StartError::AlreadyRunning(_))
        ));
        persistence.stopped(id).await;
        assert!(persistence.live_ids().is_empty());
    }
}

#[actix::test]
async fn an_id_is_started_again_right_after_its_last_address_was_dropped() {
    let persistence = Persistence::memory().await.unwrap();
    for expected in 1..=50 {
        let counter = persistence.start_when_stopped(|| Counter::named("1"));
        let counter = counter.await.unwrap();
        let id = persistence.live_ids().remove(0);
        assert!(persistence.recovery_failure(&id).is_none());
        assert_eq!(counter.send(Count(1)).await.unwrap().unwrap(), expected);
    }
}
