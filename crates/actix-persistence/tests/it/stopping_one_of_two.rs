//! Two persistences in one process: stopping one leaves the other alone.

use std::thread;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use tokio::sync::oneshot;

use crate::counter::{Count, Counter};

/// Longer than any test takes when it works.
const LONG: Duration = Duration::from_secs(60);

#[actix::test]
async fn two_handles_of_one_system_on_one_database_stop_each_for_itself() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.db");
    let (one, other) = (
        Persistence::sqlite(&file).await.unwrap(),
        Persistence::sqlite(&file).await.unwrap(),
    );
    let stopped = one.start(|| Counter::named("1")).unwrap();
    let alive = other.start(|| Counter::named("2")).unwrap();
    assert_eq!(stopped.send(Count(1)).await.unwrap().unwrap(), 1);
    assert_eq!(alive.send(Count(1)).await.unwrap().unwrap(), 1);

    let report = one.stop(LONG).await;
    assert_eq!(report.to_string(), "1 of 1 actors stopped");
    assert_eq!((one.is_stopping(), other.is_stopping()), (true, false));
    assert!(!stopped.connected());
    assert_eq!(alive.send(Count(1)).await.unwrap().unwrap(), 2);
    // What the first one has let go is the other's now.
    let successor = other.start(|| Counter::named("1")).unwrap();
    assert_eq!(successor.send(Count(1)).await.unwrap().unwrap(), 2);

    let report = other.stop(LONG).await;
    assert_eq!(report.to_string(), "2 of 2 actors stopped");
}

#[actix::test]
async fn an_actor_of_another_system_goes_on() {
    let (ready, opened) = oneshot::channel();
    let (stop_other, told) = oneshot::channel();
    let other_system = thread::spawn(move || {
        System::new().block_on(async move {
            let persistence = Persistence::memory().await.unwrap();
            let counter = persistence.start(|| Counter::named("1")).unwrap();
            ready.send(counter).unwrap();
            told.await.unwrap();
            assert!(!persistence.is_stopping());
            persistence.stop(LONG).await.to_string()
        })
    });
    let theirs: Addr<Counter> = opened.await.unwrap();
    let persistence = Persistence::memory().await.unwrap();
    let ours = persistence.start(|| Counter::named("1")).unwrap();
    assert_eq!(ours.send(Count(1)).await.unwrap().unwrap(), 1);
    let report = persistence.stop(LONG).await;
    assert_eq!(report.to_string(), "1 of 1 actors stopped");
    assert!(!ours.connected());
    assert_eq!(theirs.send(Count(5)).await.unwrap().unwrap(), 5);
    stop_other.send(()).unwrap();
    assert_eq!(other_system.join().unwrap(), "1 of 1 actors stopped");
    assert!(!theirs.connected());
}
