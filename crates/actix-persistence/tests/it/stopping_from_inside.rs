//! An actor that stops everything, itself included.

use std::time::Duration;

use actix::fut::wrap_future;
use actix::prelude::*;
use actix_persistence::StopReport;
use actix_persistence::prelude::*;
use tokio::sync::oneshot;

use crate::counter::{Count, Counter};

/// Longer than any test takes when it works.
const LONG: Duration = Duration::from_secs(60);

/// Stops everything from a task beside the actor.
#[derive(Message)]
#[rtype(result = "()")]
struct StopEverything(oneshot::Sender<StopReport>);

impl Handler<StopEverything> for Counter {
    type Result = ();

    fn handle(&mut self, StopEverything(told): StopEverything, _: &mut Self::Context) {
        let persistence = Persistence::current().unwrap();
        actix::spawn(async move {
            let report = persistence.stop(LONG).await;
            told.send(report).unwrap();
        });
    }
}

/// Stops everything in a future of the actor itself, which is what the stop waits for.
#[derive(Message)]
#[rtype(result = "()")]
struct StopMyself(oneshot::Sender<StopReport>);

impl Handler<StopMyself> for Counter {
    type Result = ();

    fn handle(&mut self, StopMyself(told): StopMyself, ctx: &mut Self::Context) {
        let persistence = Persistence::current().unwrap();
        ctx.spawn(wrap_future(async move {
            let report = persistence.stop(Duration::from_millis(50)).await;
            told.send(report).unwrap();
        }));
    }
}

#[actix::test]
async fn an_actor_stops_everything_after_what_has_arrived() {
    let persistence = Persistence::memory().await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    let other = persistence.start(|| Counter::named("2")).unwrap();
    let (told, report) = oneshot::channel();
    let stopping = counter.send(StopEverything(told));
    let behind = counter.send(Count(1));
    stopping.await.unwrap();
    assert_eq!(behind.await.unwrap().unwrap(), 1);
    let report = report.await.unwrap();
    assert_eq!(report.to_string(), "2 of 2 actors stopped");
    assert!(!counter.connected() && !other.connected());
}

#[actix::test]
async fn a_stop_awaited_by_an_actor_reports_that_actor_at_the_deadline() {
    let persistence = Persistence::memory().await.unwrap();
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    let other = persistence.start(|| Counter::named("2")).unwrap();
    // Both have recovered, so that only one of them has anything to do.
    assert_eq!(other.send(Count(1)).await.unwrap().unwrap(), 1);
    let (told, report) = oneshot::channel();
    counter.send(StopMyself(told)).await.unwrap();
    let report = report.await.unwrap();
    assert_eq!(
        report.to_string(),
        "1 of 2 actors could not finish\n  Counter|1 was working"
    );
    persistence.stop(LONG).await;
    assert!(!counter.connected() && !other.connected());
}
