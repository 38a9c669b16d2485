//! Dead letters, and the places where they are heard of.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Handler, MailboxError, Message};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    DeadLetter, DeadLetterCause, Environment, Overflow, PersistentActor, PersistentContext,
    StashPolicy, StoreResponse, Subscription, UnfinishedWork,
};
use actix_persistence_storage_api::{PersistenceId, SnapshotCriteria};
use futures_util::{FutureExt, StreamExt};
use tokio::time::timeout;

use crate::logging;
use crate::scripted_journal::{Scripted, ScriptedJournal};
use crate::tally::{Add, Added, Get, Log, Run, Sum, Tally, persist, stop};
use crate::world::{World, run};

/// Returns the letters that can be read now.
fn read(letters: &mut Subscription<DeadLetter>) -> Vec<String> {
    std::iter::from_fn(|| letters.next().now_or_never().flatten())
        .map(|item| show(item.unwrap()))
        .collect()
}

fn show(letter: DeadLetter) -> String {
    let id = letter.persistence_id;
    match letter.cause {
        DeadLetterCause::StashOverflow { message_type } => {
            format!("{id}: no room for {}", short(message_type))
        }
        DeadLetterCause::NotProcessed { message_type } => {
            format!("{id}: not processed: {}", short(message_type))
        }
        DeadLetterCause::StoreFailure(response) => {
            format!("{id}: {}", response.error().unwrap())
        }
        other => format!("{other:?}"),
    }
}

fn short(type_name: &str) -> &str {
    type_name.rsplit("::").next().unwrap()
}

/// Deletes what is not there, and does nothing about the answers.
struct Careless;

/// Takes care of deletes of events only.
struct Picky;

impl Actor for Careless {
    type Context = PersistentContext<Self>;
}

impl Actor for Picky {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Careless {
    type Event = Added;
    type Snapshot = Sum;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Careless", "1")
    }

    fn on_event(&mut self, _: &Added) {}
}

impl PersistentActor for Picky {
    type Event = Added;
    type Snapshot = Sum;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Picky", "1")
    }

    fn on_event(&mut self, _: &Added) {}

    fn on_store_response(&mut self, response: StoreResponse, ctx: &mut Self::Context) {
        match response {
            StoreResponse::DeleteMessagesFailure { .. } => {}
            other => ctx.unhandled(other),
        }
    }
}

/// Asks for a delete that fails, three things that have no store, and a delete that succeeds.
#[derive(Message)]
#[rtype(result = "()")]
struct Delete;

impl Handler<Delete> for Careless {
    type Result = ();

    fn handle(&mut self, _: Delete, ctx: &mut Self::Context) {
        delete(ctx);
    }
}

impl Handler<Delete> for Picky {
    type Result = ();

    fn handle(&mut self, _: Delete, ctx: &mut Self::Context) {
        delete(ctx);
    }
}

fn delete<A: PersistentActor<Snapshot = Sum>>(ctx: &mut PersistentContext<A>) {
    ctx.delete_messages(7);
    ctx.delete_snapshot(3);
    ctx.delete_snapshots(SnapshotCriteria::LATEST);
    ctx.save_snapshot(&Sum(1));
    ctx.delete_messages(0);
}

/// The dead letters of an actor, until it has ended, in alphabetical order.
async fn letters_after_deleting<A>(factory: fn() -> A) -> Vec<String>
where
    A: PersistentActor + Handler<Delete>,
{
    let world = World::new();
    let environment = Arc::new(Environment::new(
        world.environment.stores.journal().unwrap().clone(),
        None,
    ));
    let letters = environment.dead_letters.subscribe();
    let bare = World {
        storage: world.storage,
        environment,
    };
    let actor = bare.start(factory).unwrap();
    drop(bare.environment);
    actor.send(Delete).await.unwrap();
    // Without an address it ends, but not before all answers have come.
    drop(actor);
    let mut letters: Vec<_> = letters.map(|item| show(item.unwrap())).collect().await;
    letters.sort();
    letters
}

/// The requests that fail besides the delete of events, whether or not the actor handles that.
const WITHOUT_A_STORE: [&str; 3] = [
    "could not delete a snapshot: not supported by this store: no snapshot store is configured",
    "could not delete snapshots: not supported by this store: no snapshot store is configured",
    "no snapshot store is configured",
];

/// Dead letters of this actor, in alphabetical order.
fn of(id: &str, failures: &[&str]) -> Vec<String> {
    let mut letters: Vec<_> = failures
        .iter()
        .map(|text| format!("{id}: {text}"))
        .collect();
    letters.sort();
    letters
}

const NO_SUCH_EVENTS: &str = "events up to 7 cannot be deleted, the last one is 0";

#[test]
fn failures_that_the_actor_does_not_handle_are_dead_letters() {
    run(|| async {
        logging::collect();
        let failures = [&WITHOUT_A_STORE[..], &[NO_SUCH_EVENTS]].concat();
        let letters = letters_after_deleting(|| Careless).await;
        assert_eq!(letters, of("Careless|1", &failures));
        for failure in failures {
            let error = format!("error={failure}");
            logging::has_line(&["WARN", "Careless|1", &error]);
        }
    });
}

#[test]
fn failures_that_the_actor_handles_are_logged_and_no_dead_letters() {
    run(|| async {
        logging::collect();
        let letters = letters_after_deleting(|| Picky).await;
        assert_eq!(letters, of("Picky|1", &WITHOUT_A_STORE));
        logging::has_line(&["WARN", "Picky|1", NO_SUCH_EVENTS]);
    });
}

/// A tally with one event under way, and room for one message that waits.
async fn busy(overflow: Overflow) -> (World, Arc<Scripted>, actix::Addr<Tally>) {
    let storage = MemoryStorage::new();
    let journal = ScriptedJournal::held(storage.journal());
    let world = World::on(storage, journal.clone(), |environment| {
        environment.stash_policy = StashPolicy::new(1, overflow);
    });
    let tally = world.start(Tally::factory("1", &Log::default())).unwrap();
    let persisting = Run::new(|_, ctx| {
        persist(ctx, 1).detach();
    });
    tally.send(persisting).await.unwrap();
    (world, journal, tally)
}

#[test]
fn messages_for_which_the_stash_has_no_room_are_dead_letters() {
    for overflow in [Overflow::Drop, Overflow::Fail] {
        run(move || async move {
            let (world, journal, tally) = busy(overflow).await;
            let mut letters = world.environment.dead_letters.subscribe();
            let waiting = tally.send(Get);
            let dropped = tally.send(Add(2));
            assert_eq!(dropped.await.unwrap_err(), MailboxError::Closed);
            assert_eq!(read(&mut letters), ["Tally|1: no room for Add"]);
            journal.release(1);
            assert_eq!(waiting.await.unwrap(), 1);
            assert_eq!(read(&mut letters), [""; 0]);
        });
    }
}

#[test]
fn messages_that_wait_when_the_actor_ends_are_dead_letters() {
    run(|| async {
        let (world, journal, tally) = busy(Overflow::Wait).await;
        let mut letters = world.environment.dead_letters.subscribe();
        let stopping = tally.send(Run::new(stop));
        let waiting = [tally.send(Get), tally.send(Get)];
        journal.release(1);
        stopping.await.unwrap();
        for waiting in waiting {
            assert_eq!(waiting.await.unwrap_err(), MailboxError::Closed);
        }
        let expected = "Tally|1: not processed: Get";
        assert_eq!(read(&mut letters), [expected, expected]);
    });
}

#[test]
fn waiting_messages_that_an_actor_does_not_keep_are_dead_letters() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::new(storage.journal());
        let world = World::on(storage, journal, |environment| {
            environment.back_off.keep_stash = false;
        });
        let mut letters = world.environment.dead_letters.subscribe();
        let tally = world.start(Tally::factory("1", &Log::default())).unwrap();
        let panicking = tally.send(Run::new(|_, _| panic!("in a handler")));
        let waiting = tally.send(Get);
        assert_eq!(panicking.await.unwrap_err(), MailboxError::Closed);
        assert_eq!(waiting.await.unwrap_err(), MailboxError::Closed);
        assert_eq!(read(&mut letters), ["Tally|1: not processed: Get"]);
    });
}

#[test]
fn messages_dropped_by_a_stop_of_everything_are_counted_dead_letters() {
    run(|| async {
        let (world, _journal, tally) = busy(Overflow::Wait).await;
        let mut letters = world.environment.dead_letters.subscribe();
        // More than there is room for: in the stash, on its way there, and in the mailbox.
        let waiting: Vec<_> = (0..5).map(|_| tally.send(Get)).collect();
        tokio::task::yield_now().await;
        let drain = world.environment.live_ids.drain();
        // The write is held.
        let in_time = timeout(Duration::from_secs(1), drain.finished()).await;
        assert!(in_time.is_err());
        assert_eq!(read(&mut letters), [""; 0], "their turn may still come");
        drain.end();
        drain.finished().await;
        assert_eq!(drain.unfinished()[0].waiting, 5);
        assert_eq!(read(&mut letters), ["Tally|1: not processed: Get"; 5]);
        for waiting in waiting {
            assert_eq!(waiting.await.unwrap_err(), MailboxError::Closed);
        }
    });
}

#[test]
fn messages_left_by_a_draining_actor_are_counted_dead_letters() {
    run(|| async {
        let world = World::new();
        let tally = world.start(Tally::factory("1", &Log::default())).unwrap();
        let mut letters = world.environment.dead_letters.subscribe();
        let stopping = tally.send(Run::new(stop));
        let waiting = [tally.send(Get), tally.send(Get)];
        let drain = world.environment.live_ids.drain();
        drain.finished().await;
        stopping.await.unwrap();
        let left = &drain.unfinished()[0];
        assert_eq!((left.work, left.waiting), (UnfinishedWork::Declined, 2));
        assert_eq!(read(&mut letters), ["Tally|1: not processed: Get"; 2]);
        for waiting in waiting {
            assert_eq!(waiting.await.unwrap_err(), MailboxError::Closed);
        }
    });
}
