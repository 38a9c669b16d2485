//! Nothing that happens at any moment of an actor's work does harm: the last address goes, a stop comes, everything
//! stops.

use std::sync::Arc;
use std::time::Duration;

use actix::fut::wrap_future;
use actix::{Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Handler, Message, Running};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    PersistentActor, PersistentContext, Reply, Retention, SnapshotOffer,
};
use actix_persistence_storage_api::PersistenceId;

use crate::scripted_journal::{Next, ScriptedJournal};
use crate::tally::{Added, Answer, Log, Sum, added};
use crate::world::{World, run};

/// Persists in every way there is.
struct Busy {
    log: Log,
    sum: i64,
    said_goodbye: bool,
}

impl Busy {
    fn factory(log: &Log) -> impl FnMut() -> Self + Unpin + 'static {
        let log = log.clone();
        move || Self {
            log: log.clone(),
            sum: 0,
            said_goodbye: false,
        }
    }
}

impl Actor for Busy {
    type Context = PersistentContext<Self>;

    fn stopping(&mut self, ctx: &mut Self::Context) -> Running {
        if !std::mem::replace(&mut self.said_goodbye, true) {
            ctx.persist(added(1_000)).detach();
        }
        Running::Stop
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.log.add("stopped");
    }
}

impl PersistentActor for Busy {
    type Event = Added;
    type Snapshot = Sum;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Busy", "1")
    }

    fn retention(&self) -> Option<Retention<Self>> {
        Some(Retention::snapshot_every(2, |busy: &Self| Sum(busy.sum)).with_delete_events())
    }

    fn on_event(&mut self, event: &Added) {
        self.sum += event.n;
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Sum>) {
        self.sum = offer.snapshot.0;
    }

    fn on_recovery_completed(&mut self, _: &mut Self::Context) {
        self.log.add(format!("recovered {}", self.sum));
    }
}

/// Persists 1 at once, 10 in the handler of that, 100 in a spawned future and in a wait each; 211 in all.
#[derive(Message)]
#[rtype(result = "Answer")]
struct Work;

impl Handler<Work> for Busy {
    type Result = Reply<Work>;

    fn handle(&mut self, _: Work, ctx: &mut Self::Context) -> Reply<Work> {
        ctx.spawn(persist_later());
        ctx.wait(persist_later());
        ctx.persist(added(1))
            .then(|_, _, ctx| drop(ctx.persist_async(added(10))))
            .reply(|busy| Ok(busy.sum))
    }
}

fn persist_later() -> impl actix::ActorFuture<Busy, Output = ()> {
    wrap_future::<_, Busy>(tokio::task::yield_now())
        .then(|(), _, ctx: &mut PersistentContext<Busy>| {
            let persisted = ctx.persist(added(100));
            wrap_future::<_, Busy>(persisted.into_future())
        })
        .map(|persisted, _, _| persisted.unwrap())
}

/// The event that is confirmed is the only odd one.
const ALL: i64 = 211;
const GOODBYE: i64 = 1_000;

#[derive(Message)]
#[rtype(result = "()")]
struct Stop;

impl Handler<Stop> for Busy {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Self::Context) {
        ctx.stop();
    }
}

/// The traces that are found when the actor is gone.
#[derive(Debug, PartialEq)]
struct Found {
    stopped: bool,
    /// True if the work was.
    confirmed: bool,
    /// The sum that the next start recovers.
    sum: i64,
}

const EVERYTHING: Found = Found {
    stopped: true,
    confirmed: true,
    sum: ALL + GOODBYE,
};

/// Does something after this many milliseconds, with a journal that writes every four. The actor has to be gone in a
/// minute.
async fn at(moment: u64, act: impl FnOnce(&World, &ScriptedJournal, Addr<Busy>)) -> Found {
    let ((world, journal), log) = (World::held(), Log::default());
    let writing = Arc::clone(&journal);
    actix::spawn(async move {
        for _ in MOMENTS {
            tokio::time::sleep(Duration::from_millis(4)).await;
            writing.release(1);
        }
    });
    let busy = world.start(Busy::factory(&log)).unwrap();
    let work = actix::spawn(busy.send(Work));
    tokio::time::sleep(Duration::from_millis(moment)).await;
    act(&world, &journal, busy);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(world.environment.live_ids.is_empty(), "at {moment}");
    let confirmed = work.await.unwrap().is_ok_and(|answer| answer.is_ok());
    Found {
        stopped: log.take().pop().as_deref() == Some("stopped"),
        confirmed,
        sum: recovered(&world.storage).await,
    }
}

/// The state that another process finds.
async fn recovered(storage: &MemoryStorage) -> i64 {
    let log = Log::default();
    let world = World::on(storage.clone(), Arc::new(storage.journal()), |_| ());
    let busy = world.start(Busy::factory(&log)).unwrap();
    busy.send(Stop).await.unwrap();
    let sum = log.take()[0].strip_prefix("recovered ").unwrap().parse();
    sum.unwrap()
}

/// From before the recovery until everything is long done.
const MOMENTS: std::ops::Range<u64> = 0..40;

#[test]
fn the_last_address_may_go_at_any_moment() {
    run(|| async {
        for moment in MOMENTS {
            let found = at(moment, |_, _, busy| drop(busy)).await;
            assert_eq!(found, EVERYTHING, "at {moment}");
        }
    });
}

#[test]
fn everything_may_stop_at_any_moment() {
    run(|| async {
        for moment in MOMENTS {
            let found = at(moment, |world, _, _| {
                drop(world.environment.live_ids.drain())
            })
            .await;
            assert_eq!(found, EVERYTHING, "at {moment}");
        }
    });
}

#[test]
fn a_stop_may_come_at_any_moment() {
    run(|| async {
        for moment in MOMENTS {
            let found = at(moment, |_, _, busy| busy.do_send(Stop)).await;
            assert!(
                found.stopped && found.sum >= GOODBYE,
                "at {moment}: {found:?}"
            );
            assert!(
                !found.confirmed || found.sum % 2 == 1,
                "at {moment}: {found:?}"
            );
        }
    });
}

#[test]
fn the_journal_may_fail_at_any_moment() {
    run(|| async {
        let failures = [Next::FailNotStored, Next::StoreButFailUnknown, Next::Panic];
        for (moment, failure) in MOMENTS.flat_map(|moment| failures.map(|next| (moment, next))) {
            let found = at(moment, |_, journal, busy| {
                journal.next(failure);
                // It is rebuilt while somebody can reach it.
                actix::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(30)).await;
                    drop(busy);
                });
            })
            .await;
            assert!(
                !found.confirmed || found.sum % 2 == 1,
                "{failure:?} at {moment}: {found:?}"
            );
        }
    });
}
