//! Every failure is answered, the actor is rebuilt, and its address goes on.

use std::time::Duration;

use actix::fut::wrap_future;
use actix::{Handler, MailboxError, Message, ResponseActFuture};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{BackOffSettings, PersistError, PersistFuture};
use actix_persistence_storage_api::{Journal, TakeOverRequest, WriterId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::scripted_journal::{Next, ScriptedJournal};
use crate::tally::{Add, Get, Log, Run, Tally, added, kind, persist};
use crate::world::{World, run};

#[test]
fn a_certain_failure_is_answered_and_the_next_incarnation_goes_on() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Add(1)).await.unwrap().unwrap();
        journal.next(Next::FailNotStored);
        let failed = tally.send(Add(2)).await.unwrap().unwrap_err();
        assert_eq!(kind(&failed), "NotStored");
        assert_eq!(tally.send(Add(4)).await.unwrap().unwrap(), 5);
        let expected = [
            "failed 2 at 2: NotStored",
            "event 1",
            "recovered at 1",
            "command 4",
        ];
        assert_eq!(log.take()[5..9], expected);
    });
}

#[test]
fn a_write_of_unknown_outcome_is_answered_so_and_the_recovery_finds_out() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::StoreButFailUnknown);
        let failed = tally.send(Add(2)).await.unwrap().unwrap_err();
        assert_eq!(kind(&failed), "Unknown");
        assert!(!failed.is_not_stored());
        assert_eq!(tally.send(Get).await.unwrap(), 2, "it was stored");
        assert_eq!(tally.send(Add(3)).await.unwrap().unwrap(), 5);
    });
}

#[test]
fn a_plugin_that_panics_is_a_failure_of_unknown_outcome() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::Panic);
        let failed = tally.send(Add(2)).await.unwrap().unwrap_err();
        assert_eq!(kind(&failed), "Unknown");
        assert_eq!(tally.send(Add(3)).await.unwrap().unwrap(), 3);
    });
}

#[test]
fn a_plugin_that_skips_without_a_reason_fails_the_recovery() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::Skip);
        let error = tally.send(Add(1)).await.unwrap().unwrap_err();
        assert_eq!(kind(&error), "Unknown");
        assert_eq!(journal.calls(), [[1]]);
        assert_eq!(tally.send(Add(1)).await.unwrap().unwrap(), 1);
    });
}

#[test]
fn the_loser_of_a_conflict_recovers_with_the_events_of_the_winner() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let other = World::on(
            world.storage.clone(),
            std::sync::Arc::new(world.storage.journal()),
            |_| {},
        );
        let first = world.start(Tally::factory("1", &log)).unwrap();
        first.send(Add(1)).await.unwrap().unwrap();
        let second = other.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(second.send(Add(10)).await.unwrap().unwrap(), 11);
        let lost = first.send(Add(2)).await.unwrap().unwrap_err();
        assert!(
            matches!(&lost, PersistError::Conflict(error) if error.sequence_conflict().is_some()),
            "{lost:?}"
        );
        assert_eq!(first.send(Get).await.unwrap(), 11);
    });
}

#[test]
fn stashed_commands_survive_a_failure_and_the_failed_one_is_not_run_again() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::held(storage.journal());
        let world = World::on(storage, journal.clone(), |_| {});
        let log = Log::default();
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::FailNotStored);
        let failing = tally.send(Add(1));
        let waiting: Vec<_> = (2..=5).map(|n| tally.send(Add(n))).collect();
        journal.release(5);
        failing.await.unwrap().unwrap_err();
        let mut sums = Vec::new();
        for command in waiting {
            sums.push(command.await.unwrap().unwrap());
        }
        assert_eq!(sums, [2, 5, 9, 14]);
        let commands = log
            .take()
            .into_iter()
            .filter(|entry| entry.starts_with("command"));
        let expected = [
            "command 1",
            "command 2",
            "command 3",
            "command 4",
            "command 5",
        ];
        assert_eq!(commands.collect::<Vec<_>>(), expected);
    });
}

#[test]
fn without_keep_stash_the_channels_of_waiting_commands_close() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::held(storage.journal());
        let world = World::on(storage, journal.clone(), |environment| {
            environment.back_off.keep_stash = false;
        });
        let log = Log::default();
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::FailNotStored);
        let failing = tally.send(Add(1));
        let waiting = tally.send(Add(2));
        journal.release(2);
        failing.await.unwrap().unwrap_err();
        assert!(matches!(waiting.await, Err(MailboxError::Closed)));
        assert_eq!(
            tally.send(Add(3)).await.unwrap().unwrap(),
            3,
            "the address goes on"
        );
    });
}

#[test]
fn a_panicking_handler_ends_the_incarnation_and_its_turn_stores_nothing() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Add(1)).await.unwrap().unwrap();
        let panicking = tally.send(Run::new(|_, ctx| {
            persist(ctx, 50).detach();
            panic!("in a handler");
        }));
        let waiting = tally.send(Add(2));
        assert!(matches!(panicking.await, Err(MailboxError::Closed)));
        assert_eq!(waiting.await.unwrap().unwrap(), 3);
        assert!(tally.connected());
    });
}

#[test]
fn a_panic_while_a_write_is_in_flight_recovers_with_its_event() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let write = Run::new(|_, ctx| drop(ctx.persist_async(added(7))));
        tally.send(write).await.unwrap();
        while journal.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        let panicking = tally.send(Run::new(|_, ctx| {
            ctx.persist_async(added(50)).detach();
            panic!("while a write is in flight");
        }));
        assert!(panicking.await.is_err());
        // The recovery waits for the write, so that its number is not given again.
        let next = tally.send(Add(1));
        tokio::time::sleep(Duration::from_secs(5)).await;
        journal.release(2);
        assert_eq!(next.await.unwrap().unwrap(), 8);
        assert_eq!(journal.calls(), [[1], [1]], "50 was not sent");
    });
}

#[test]
fn a_journal_that_never_answers_a_write_ends_in_an_unknown_outcome() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let begun = Instant::now();
        let waiting = tally.send(Add(1));
        let error = waiting.await.unwrap().unwrap_err();
        assert_eq!(kind(&error), "Unknown");
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "the call timeout"
        );
        // The call that was given up cannot store any more: the next incarnation holds the id.
        assert_eq!(tally.send(Get).await.unwrap(), 0);
        journal.release(100);
        assert_eq!(tally.send(Add(2)).await.unwrap().unwrap(), 2);
    });
}

#[test]
fn a_panic_in_on_event_tells_the_asker_that_the_event_is_stored() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let shared = log.clone();
        // Only the first incarnation is poisoned.
        let mut incarnation = 0;
        let tally = world.start(move || {
            incarnation += 1;
            let mut tally = Tally::new("1", &shared);
            tally.poison = (incarnation == 1).then_some(7);
            tally
        });
        let tally = tally.unwrap();
        let error = tally.send(Add(7)).await.unwrap().unwrap_err();
        assert_eq!(kind(&error), "StoredUnanswered");
        assert_eq!(tally.send(Get).await.unwrap(), 7);
    });
}

#[test]
fn delays_between_incarnations_grow_until_one_has_worked_for_a_time() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::new(storage.journal());
        let world = World::on(storage, journal.clone(), |environment| {
            environment.back_off.random_factor = 0.0;
        });
        let log = Log::default();
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Get).await.unwrap();
        let mut delays = Vec::new();
        for pause in [0, 0, 0, 60] {
            tokio::time::sleep(Duration::from_secs(pause)).await;
            journal.next(Next::FailNotStored);
            tally.send(Add(1)).await.unwrap().unwrap_err();
            let failed_at = Instant::now();
            tally.send(Get).await.unwrap();
            delays.push(failed_at.elapsed().as_secs());
        }
        assert_eq!(delays, [3, 6, 12, 3]);
    });
}

#[test]
fn an_actor_that_fails_too_often_ends_for_good_and_frees_its_id() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::new(storage.journal());
        let world = World::on(storage, journal.clone(), |environment| {
            environment.back_off.max_restarts = Some(2);
        });
        let log = Log::default();
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for _ in 0..3 {
            journal.next(Next::FailNotStored);
            tally.send(Add(1)).await.unwrap().unwrap_err();
        }
        assert!(matches!(tally.send(Get).await, Err(MailboxError::Closed)));
        let again = world.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(again.send(Add(1)).await.unwrap().unwrap(), 1);
    });
}

#[test]
fn a_recovery_that_waiting_cures_keeps_its_commands() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        journal.fail_recoveries(3);
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(tally.send(Add(1)).await.unwrap().unwrap(), 1);
        let failures = log
            .take()
            .iter()
            .filter(|entry| entry.starts_with("recovery failed"))
            .count();
        assert_eq!(failures, 3);
    });
}

#[test]
fn a_recovery_that_waiting_cannot_cure_closes_its_commands_and_retries() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let shared = log.clone();
        let mut incarnation = 0;
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Add(7)).await.unwrap().unwrap();
        drop(tally);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let tally = world
            .start(move || {
                incarnation += 1;
                let mut tally = Tally::new("1", &shared);
                tally.poison = (incarnation <= 2).then_some(7);
                tally
            })
            .unwrap();
        assert!(matches!(tally.send(Get).await, Err(MailboxError::Closed)));
        assert!(
            matches!(tally.send(Get).await, Err(MailboxError::Closed)),
            "at once"
        );
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(
            tally.send(Get).await.unwrap(),
            7,
            "the third incarnation is sound"
        );
    });
}

#[test]
fn a_write_from_before_a_recovery_is_refused_by_its_epoch() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Add(1)).await.unwrap().unwrap();
        // Somebody else takes the id over, without writing.
        let request = TakeOverRequest::new(Tally::new("1", &log).id, WriterId::random());
        let journal = world.storage.journal();
        journal.take_over(&[request]).await.unwrap();
        let error = tally.send(Add(2)).await.unwrap().unwrap_err();
        assert_eq!(kind(&error), "Conflict");
    });
}

#[test]
fn a_panic_in_the_drop_of_a_failed_actor_leaves_the_address_alive() {
    use actix::Actor;
    use actix_persistence_persistent_actor::{
        NoSnapshot, PersistentActor, PersistentContext, Reply,
    };
    use actix_persistence_storage_api::PersistenceId;

    struct Brittle;
    impl Drop for Brittle {
        fn drop(&mut self) {
            // Not while another panic is under way: that would end the process.
            assert!(std::thread::panicking(), "dropped");
        }
    }
    impl Actor for Brittle {
        type Context = PersistentContext<Self>;
    }
    impl PersistentActor for Brittle {
        type Event = crate::tally::Added;
        type Snapshot = NoSnapshot;
        fn persistence_id(&self) -> PersistenceId {
            PersistenceId::of("Brittle", "1")
        }
        fn on_event(&mut self, _: &crate::tally::Added) {}
    }
    struct Fussy;
    impl From<PersistError> for Fussy {
        fn from(_: PersistError) -> Self {
            panic!("no answer")
        }
    }
    #[derive(Message)]
    #[rtype(result = "Result<(), Fussy>")]
    struct Write;
    impl Handler<Write> for Brittle {
        type Result = Reply<Write>;
        fn handle(&mut self, _: Write, ctx: &mut Self::Context) -> Reply<Write> {
            let ballast = String::new();
            ctx.persist(crate::tally::Added { n: 1, ballast })
                .reply(|_| Ok(()))
        }
    }

    run(|| async {
        let (world, journal) = World::scripted();
        let brittle = world.start(|| Brittle).unwrap();
        journal.next(Next::FailNotStored);
        let closed = brittle.send(Write).await;
        assert!(matches!(closed, Err(MailboxError::Closed)));
        assert!(matches!(brittle.send(Write).await, Ok(Ok(()))));
        // Its own end is none of this test's business.
        std::mem::forget(brittle);
    });
}

#[test]
fn a_panic_in_the_drop_of_a_stored_event_reaches_its_asker_as_stored() {
    use actix::Actor;
    use actix_persistence_persistent_actor::{
        Event, NoSnapshot, PersistentActor, PersistentContext, Reply,
    };
    use actix_persistence_storage_api::PersistenceId;

    /// An event that cannot be dropped, unless it was read from the store.
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Brittle {
        #[serde(skip)]
        is_new: bool,
    }
    impl Event for Brittle {
        const MANIFEST: &'static str = "test.brittle";
        const VERSION: u32 = 1;
    }
    impl Drop for Brittle {
        fn drop(&mut self) {
            assert!(!self.is_new || std::thread::panicking(), "dropped");
        }
    }
    #[derive(Default)]
    struct Shelf(usize);
    impl Actor for Shelf {
        type Context = PersistentContext<Self>;
    }
    impl PersistentActor for Shelf {
        type Event = Brittle;
        type Snapshot = NoSnapshot;
        fn persistence_id(&self) -> PersistenceId {
            PersistenceId::of("Shelf", "1")
        }
        fn on_event(&mut self, _: &Brittle) {
            self.0 += 1;
        }
    }
    #[derive(Message)]
    #[rtype(result = "Result<usize, PersistError>")]
    struct Put;
    impl Handler<Put> for Shelf {
        type Result = Reply<Put>;
        fn handle(&mut self, _: Put, ctx: &mut Self::Context) -> Reply<Put> {
            if self.0 > 0 {
                return Reply::now(Ok(self.0));
            }
            ctx.persist(Brittle { is_new: true })
                .reply(|shelf| Ok(shelf.0))
        }
    }

    run(|| async {
        let shelf = World::new().start(Shelf::default).unwrap();
        let answer = shelf.send(Put).await.unwrap();
        assert!(matches!(answer, Err(PersistError::StoredUnanswered)));
        assert_eq!(shelf.send(Put).await.unwrap().unwrap(), 1);
    });
}

#[test]
fn a_panic_in_the_drop_of_its_handlers_leaves_the_address_alive() {
    struct Brittle;
    impl Drop for Brittle {
        fn drop(&mut self) {
            // Not while another panic is under way: that would end the process.
            assert!(std::thread::panicking(), "dropped");
        }
    }

    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        // In a handler of the call that fails, of one behind it, and of one that is stored.
        for place in [0, 1, 2] {
            let turn = Run::new(move |_, ctx| {
                for call in 0..2 {
                    let brittle = (call == place % 2).then(|| Brittle);
                    persist(ctx, 1)
                        .then(move |_, _, _| {
                            let _ = &brittle;
                        })
                        .detach();
                }
            });
            if place < 2 {
                journal.next(Next::FailNotStored);
            }
            tally.send(turn).await.unwrap();
            assert!(tally.send(Get).await.is_ok());
        }
    });
}

#[test]
fn a_future_on_a_failed_context_ends_and_one_elsewhere_learns_why() {
    /// Answers from a future on the context, and gives another one away.
    #[derive(Message)]
    #[rtype(result = "bool")]
    struct AddInFuture(oneshot::Sender<PersistFuture>);

    impl Handler<AddInFuture> for Tally {
        type Result = ResponseActFuture<Self, bool>;

        fn handle(&mut self, add: AddInFuture, ctx: &mut Self::Context) -> Self::Result {
            let _ = add.0.send(persist(ctx, 1).into_future());
            let persisted = persist(ctx, 2);
            Box::pin(wrap_future(async move { persisted.await.is_ok() }))
        }
    }

    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::FailNotStored);
        let (sender, receiver) = oneshot::channel();
        let answer = tally.send(AddInFuture(sender)).await;
        assert!(matches!(answer, Err(MailboxError::Closed)));
        let error = receiver.await.unwrap().await.unwrap_err();
        assert_eq!(kind(&error), "NotStored");
    });
}

#[test]
fn a_back_off_beyond_all_clocks_is_waited_for_without_end() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::new(storage.journal());
        let world = World::on(storage, journal.clone(), |environment| {
            environment.back_off = BackOffSettings::default().with_min(Duration::MAX);
        });
        let log = Log::default();
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::FailNotStored);
        assert!(tally.send(Add(1)).await.unwrap().is_err());
        let waiting = tokio::time::timeout(Duration::from_secs(3_600), tally.send(Get));
        assert!(waiting.await.is_err(), "neither answered nor closed");
        assert_eq!(world.environment.live_ids.len(), 1);
    });
}
