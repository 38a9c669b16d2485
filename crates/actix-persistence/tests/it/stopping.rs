//! Stopping everything.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::UnfinishedWork;
use actix_persistence::memory::MemoryJournal;
use actix_persistence::prelude::*;
use actix_persistence::projection::{AtLeastOnceHandler, ExtensionError};
use actix_persistence::query::{EventEnvelope, EventSelection};
use actix_persistence::storage_api::Operation;
use actix_persistence_testkit::Intercepted;
use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::counter::{Count, Counted, Counter, KnowsCurrent};
use crate::stop_signals::Busy;

/// Longer than any test takes when it works.
const LONG: Duration = Duration::from_secs(60);

#[actix::test]
async fn everything_sent_before_the_stop_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.db");
    let persistence = Persistence::sqlite(&file).await.unwrap();
    let counters: Vec<_> = (0..20)
        .map(|n| persistence.start(move || Counter::named(&n.to_string())))
        .map(Result::unwrap)
        .collect();
    for _ in 0..50 {
        counters
            .iter()
            .for_each(|counter| counter.do_send(Count(1)));
    }
    let report = persistence.stop(LONG).await;
    assert_eq!(report.to_string(), "20 of 20 actors stopped");
    assert!(counters.iter().all(|counter| !counter.connected()));
    let refused = persistence.start(|| Counter::named("1")).err();
    assert_eq!(refused, Some(StartError::Stopping));
    assert!(persistence.is_stopping());
    let replayed = persistence.replay(Counter::named("1")).await.unwrap();
    assert_eq!(replayed.actor.count, 50, "reading goes on working");

    drop((counters, persistence));
    let persistence = Persistence::sqlite(&file).await.unwrap();
    for n in 0..20 {
        let counter = Counter::named(&n.to_string());
        let replayed = persistence.replay(counter).await.unwrap();
        assert_eq!(replayed.actor.count, 50);
    }
}

/// Returns the count that a copy of nothing but the main file holds.
async fn counted_in_a_copy(file: &Path) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.db");
    std::fs::copy(file, &copy).unwrap();
    let persistence = Persistence::sqlite(&copy).await.unwrap();
    let replayed = persistence.replay(Counter::named("1")).await.unwrap();
    replayed.actor.count
}

#[actix::test]
async fn an_sqlite_file_holds_everything_by_itself_after_a_stop() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.db");
    let persistence = Persistence::sqlite(&file).await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    counter.send(Count(7)).await.unwrap().unwrap();
    let report = persistence.stop(LONG).await;
    assert!(report.is_complete(), "{report}");
    assert_eq!(counted_in_a_copy(&file).await, 7);
    assert!(!directory.path().join("bank.db-wal").exists());
}

#[actix::test]
async fn one_sqlite_file_holds_everything_after_the_last_handle_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.db");
    let persistence = Persistence::sqlite(&file).await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    counter.send(Count(7)).await.unwrap().unwrap();
    // The actor holds the stores open, too, until it has ended.
    drop((counter, persistence));
    let whole = async {
        while directory.path().join("bank.db-wal").exists() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, whole).await.unwrap();
    assert_eq!(counted_in_a_copy(&file).await, 7);
}

#[actix::test]
async fn actors_on_other_arbiters_stop_too_and_all_clones_tell_the_same() {
    let persistence = Persistence::memory().await.unwrap();
    let arbiter = Arbiter::new();
    let counter = persistence
        .start_in(&arbiter.handle(), || Counter::named("1"))
        .await
        .unwrap();
    let answers: Vec<_> = (0..8).map(|_| counter.send(Count(1))).collect();
    let clone = persistence.clone();
    let (one, other) = tokio::join!(persistence.stop(LONG), clone.stop(LONG));
    assert!(one.is_complete(), "{one}");
    assert_eq!(one, other);
    assert_eq!(persistence.stop(LONG).await, one, "stopped already");
    for (n, answer) in (1..).zip(answers) {
        assert_eq!(answer.await.unwrap().unwrap(), n);
    }
    let refused = counter.send(Count(1)).await;
    assert!(matches!(refused, Err(MailboxError::Closed)));
    let refused = persistence
        .start_in(&arbiter.handle(), || Counter::named("2"))
        .await;
    assert_eq!(refused.err(), Some(StartError::Stopping));
    arbiter.stop();
    arbiter.join().unwrap();
}

#[actix::test]
async fn an_arbiter_that_has_stopped_or_is_blocked_delays_no_stop() {
    let persistence = Persistence::memory().await.unwrap();
    let (stopped, blocked) = (Arbiter::new(), Arbiter::new());
    let mut kept = Vec::new();
    for (name, arbiter) in [("stopped", &stopped), ("blocked", &blocked)] {
        let counter = persistence
            .start_in(&arbiter.handle(), move || Counter::named(name))
            .await
            .unwrap();
        counter.send(Count(1)).await.unwrap().unwrap();
        kept.push(counter);
    }
    stopped.stop();
    stopped.join().unwrap();
    let (free, wait) = std::sync::mpsc::channel::<()>();
    let (blocking, is_blocked) = tokio::sync::oneshot::channel();
    blocked.spawn_fn(move || {
        blocking.send(()).unwrap();
        // Ends when the test has dropped the sender.
        let _ = wait.recv();
    });
    is_blocked.await.unwrap();
    let report = persistence.stop(Duration::from_millis(50)).await;
    // With its arbiter, the other actor has gone before the stop.
    assert_eq!(report.actors, 1);
    assert_eq!(report.unfinished[0].work, UnfinishedWork::Unresponsive);
    let text = report.to_string();
    assert!(text.contains("Counter|blocked did not respond"), "{text}");
    drop(free);
    blocked.stop();
    blocked.join().unwrap();
}

#[actix::test]
async fn a_write_that_hangs_is_named_with_its_actor_and_its_store() {
    let journal = Intercepted::journal(MemoryJournal::new());
    let writes = journal.on(Operation::WriteMessages).hold();
    let persistence = Persistence::builder()
        .journal("hanging", Arc::new(journal))
        .open()
        .await
        .unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    let other = persistence.start(|| Counter::named("2")).unwrap();
    // It has recovered, which would wait behind the write.
    other.send(KnowsCurrent).await.unwrap();
    let (hanging, waiting) = (counter.send(Count(1)), counter.send(Count(2)));
    let hanging = actix::spawn(hanging);
    writes.next().await.hang();
    let report = persistence.stop(Duration::from_secs(1)).await;
    assert_eq!(
        report.to_string(),
        "1 of 2 actors could not finish, still busy: journal 'hanging'\n  \
         Counter|1 was persisting, with 1 call outstanding; 1 message not processed"
    );
    assert!(hanging.await.unwrap().unwrap().is_err());
    assert!(matches!(waiting.await, Err(MailboxError::Closed)));
}

#[actix::test]
async fn an_actor_whose_work_never_ends_is_ended_at_the_deadline() {
    let persistence = Persistence::memory().await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    counter.send(Busy { for_ever: true }).await.unwrap();
    let report = persistence.stop(Duration::from_millis(20)).await;
    assert_eq!(report.unfinished[0].work, UnfinishedWork::Working);
    // This one's deadline never comes: it waits until the actor is gone.
    let gone = timeout(LONG, persistence.stop(LONG * 60)).await;
    assert_eq!(gone.unwrap(), report);
}

/// Never ends, once it has said that it has begun.
struct Hangs(Arc<Notify>);

#[async_trait]
impl AtLeastOnceHandler<EventEnvelope<Counted>> for Hangs {
    async fn handle(&self, _: &EventEnvelope<Counted>) -> Result<(), ExtensionError> {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[actix::test]
async fn a_projection_whose_handler_has_not_ended_is_named() {
    let persistence = Persistence::memory().await.unwrap();
    let begun = Arc::new(Notify::new());
    let new = persistence.projection("counts");
    let new = new.of_events::<Counted>(None, EventSelection::all());
    let _projection = new.unwrap().at_least_once(Hangs(begun.clone())).unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    counter.send(Count(1)).await.unwrap().unwrap();
    begun.notified().await;
    let report = persistence.stop(Duration::from_millis(50)).await;
    assert!(!report.is_complete());
    assert_eq!(report.busy_projections, ["counts"]);
    let text = report.to_string();
    assert!(text.contains("still busy: projection 'counts'"), "{text}");
}
