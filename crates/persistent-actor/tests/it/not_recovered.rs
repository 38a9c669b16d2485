//! Errors and dead letters tell of an actor that cannot be recovered.

use std::time::Duration;

use actix::{Actor, Addr, Handler, MailboxError, Message};
use actix_persistence_persistent_actor::{
    BackOffSettings, DeadLetterCause, ErrorChain, NoSnapshot, PersistError, PersistentActor,
    PersistentContext, RecoveryError, RecoveryReplies, Reply,
};
use actix_persistence_storage_api::PersistenceId;
use futures_util::StreamExt;

use crate::tally::{Added, Get};
use crate::world::{World, run};

/// Cannot take an event that stands for 7 while it is `superstitious`.
struct Purse {
    superstitious: bool,
    max_restarts: Option<u32>,
    sum: i64,
}

impl Purse {
    fn id() -> PersistenceId {
        PersistenceId::of("Purse", "1")
    }

    fn start(world: &World, max_restarts: Option<u32>, sound_from: u32) -> Addr<Self> {
        let mut incarnation = 0;
        let factory = move || {
            incarnation += 1;
            Self {
                superstitious: incarnation < sound_from,
                max_restarts,
                sum: 0,
            }
        };
        world.start(factory).unwrap()
    }

    /// A world in which one that is superstitious cannot be recovered.
    async fn unlucky_world() -> World {
        let world = World::new();
        let purse = Self::start(&world, None, 0);
        assert_eq!(purse.send(Deposit(7)).await.unwrap().unwrap(), 7);
        drop(purse);
        let stopped = world.environment.live_ids.stopped(&Self::id());
        assert!(stopped.await.is_none(), "it was recovered");
        world
    }
}

impl Actor for Purse {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Purse {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        Self::id()
    }

    fn on_event(&mut self, event: &Added) {
        assert!(!self.superstitious || event.n != 7, "an unlucky number");
        self.sum += event.n;
    }

    fn back_off(&self) -> Option<BackOffSettings> {
        let mut settings = BackOffSettings::default();
        settings.max_restarts = self.max_restarts;
        Some(settings)
    }

    fn recovery_replies(&self) -> RecoveryReplies {
        RecoveryReplies::new().with::<Deposit>()
    }
}

#[derive(Message)]
#[rtype(result = "Result<i64, PersistError>")]
struct Deposit(i64);

impl Handler<Deposit> for Purse {
    type Result = Reply<Deposit>;

    fn handle(&mut self, Deposit(n): Deposit, ctx: &mut Self::Context) -> Self::Result {
        let ballast = String::new();
        ctx.persist(Added { n, ballast })
            .reply(|purse| Ok(purse.sum))
    }
}

impl Handler<Get> for Purse {
    type Result = i64;

    fn handle(&mut self, _: Get, _: &mut Self::Context) -> i64 {
        self.sum
    }
}

fn assert_unlucky(error: &PersistError) {
    assert!(
        matches!(error, PersistError::NotRecovered(reason) if is_unlucky(reason)),
        "{error:?}"
    );
    assert!(error.is_not_stored());
    let text = ErrorChain(error).to_string();
    assert!(text.ends_with("an unlucky number"), "{text}");
}

fn is_unlucky(error: &RecoveryError) -> bool {
    matches!(error, RecoveryError::Panicked { .. })
}

#[test]
fn a_recovery_that_failed_for_good_tells_its_askers_why() {
    run(|| async {
        let world = Purse::unlucky_world().await;
        let ids = &world.environment.live_ids;
        let mut letters = world.environment.dead_letters.subscribe();
        let purse = Purse::start(&world, None, 3);
        assert!(ids.recovery_failure(&Purse::id()).is_none(), "not tried");
        // One that waits while it is tried, and one that comes when that has failed.
        for _ in 0..2 {
            let error = purse.send(Deposit(1)).await.unwrap().unwrap_err();
            assert_unlucky(&error);
        }
        let closed = purse.send(Get).await;
        assert!(matches!(closed, Err(MailboxError::Closed)), "not named");
        assert!(
            ids.recovery_failure(&Purse::id())
                .is_some_and(|error| is_unlucky(&error))
        );
        let letter = letters.next().await.unwrap().unwrap();
        assert!(matches!(
            letter.cause,
            DeadLetterCause::NotProcessed { message_type } if message_type.ends_with("Get")
        ));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(purse.send(Deposit(1)).await.unwrap().unwrap(), 8);
        assert!(ids.recovery_failure(&Purse::id()).is_none(), "it is there");
        drop(purse);
        assert!(ids.stopped(&Purse::id()).await.is_none());
    });
}

#[test]
fn an_actor_that_ends_because_it_cannot_be_recovered_is_known_to_have() {
    run(|| async {
        let world = Purse::unlucky_world().await;
        let purse = Purse::start(&world, Some(2), u32::MAX);
        let stopped = world.environment.live_ids.stopped(&Purse::id());
        assert!(stopped.await.is_some_and(|error| is_unlucky(&error)));
        let closed = purse.send(Deposit(1)).await;
        assert!(
            matches!(closed, Err(MailboxError::Closed)),
            "nobody is left"
        );
    });
}

#[test]
fn commands_that_waited_through_an_outage_learn_why_the_actor_gave_up() {
    run(|| async {
        let (world, journal) = World::scripted();
        journal.fail_recoveries(usize::MAX);
        let purse = Purse::start(&world, Some(2), 0);
        let error = purse.send(Deposit(1)).await.unwrap().unwrap_err();
        assert!(
            matches!(&error, PersistError::NotRecovered(reason)
                if matches!(**reason, RecoveryError::Journal { .. })),
            "{error:?}"
        );
    });
}
