//! Persisting: order, replies, batches, rejections.

use std::time::Duration;

use actix::AsyncContext;
use actix::fut::wrap_future;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{DEFAULT_EVENT_LIMIT, PersistError, RejectionCause};
use actix_persistence_storage_api::{Journal, JournalCapabilities};

use crate::logging::{collect, logged};
use crate::scripted_journal::{Next, ScriptedJournal};
use crate::tally::{Add, AddAll, AddLarge, Get, Log, Run, Tally, added, persist, timer};
use crate::world::{World, run};

#[test]
fn a_command_is_answered_when_its_event_is_stored_and_applied() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(tally.send(Add(5)).await.unwrap().unwrap(), 5);
        assert_eq!(tally.send(Add(7)).await.unwrap().unwrap(), 12);
        assert_eq!(tally.send(Get).await.unwrap(), 12);
        let journal = world.storage.journal();
        let id = Tally::new("1", &log).id;
        assert_eq!(journal.read_highest_sequence_nr(&id).await.unwrap(), 2);
    });
}

#[test]
fn commands_wait_until_the_events_before_them_are_handled() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let (first, second, third) = (tally.send(Add(1)), tally.send(Add(2)), tally.send(Get));
        journal.release(2);
        first.await.unwrap().unwrap();
        second.await.unwrap().unwrap();
        assert_eq!(third.await.unwrap(), 3);
        let expected = [
            "recovered at 0",
            "command 1",
            "event 1",
            "handler 1",
            "command 2",
            "event 2",
            "handler 2",
        ];
        assert_eq!(log.take(), expected);
    });
}

#[test]
fn an_actor_that_is_persisting_takes_none_of_the_messages_that_arrive() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for n in 1..=200 {
            tally.do_send(Add(n));
        }
        journal.release(199);
        while journal.calls().len() < 200 {
            tokio::task::yield_now().await;
        }
        let before = log.take();
        assert_eq!(before.last().unwrap(), "command 200");
        journal.release(1);
        assert_eq!(tally.send(Get).await.unwrap(), 200 * 201 / 2);
        assert_eq!(log.take(), ["event 200", "handler 200"]);
    });
}

#[test]
fn nested_persists_come_after_the_outer_ones_and_before_commands() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let outer = tally.send(Run::new(|_, ctx| {
            for n in [1, 2] {
                persist(ctx, n)
                    .then(move |tally, _, ctx| {
                        tally.log.add(format!("outer-{n}"));
                        persist(ctx, 10 * n)
                            .then(move |tally, _, _| tally.log.add(format!("inner-{n}")))
                            .detach();
                    })
                    .detach();
            }
        }));
        let next = tally.send(Add(100));
        outer.await.unwrap();
        next.await.unwrap().unwrap();
        let order: Vec<_> = log.take();
        let expected = [
            "recovered at 0",
            "event 1",
            "outer-1",
            "event 2",
            "outer-2",
            "event 10",
            "inner-1",
            "event 20",
            "inner-2",
            "command 100",
            "event 100",
            "handler 100",
        ];
        assert_eq!(order, expected);
    });
}

#[test]
fn all_handlers_of_a_call_run_for_each_event_in_the_order_attached() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                ctx.persist_all([added(1), added(2)])
                    .for_each_event(|tally, event, _| tally.log.add(format!("first {}", event.n)))
                    .for_each_event(|tally, event, _| tally.log.add(format!("second {}", event.n)))
                    .on_complete(|tally, _| tally.log.add("third"))
                    .on_complete(|tally, _| tally.log.add("fourth"))
                    .detach();
            }))
            .await
            .unwrap();
        tally.send(Get).await.unwrap();
        let expected = [
            "event 1", "first 1", "second 1", "event 2", "first 2", "second 2", "third", "fourth",
        ];
        assert_eq!(log.take()[1..], expected);
    });
}

#[test]
fn everything_persisted_in_one_turn_is_one_write() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                persist(ctx, 1).detach();
                ctx.persist_all([]).detach();
                persist(ctx, 2).detach();
                persist(ctx, 3).detach();
            }))
            .await
            .unwrap();
        assert_eq!(tally.send(Get).await.unwrap(), 6);
        assert_eq!(journal.calls(), [vec![1, 1, 1]]);
    });
}

#[test]
fn persist_all_is_one_atomic_write_answered_after_its_last_handler() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(tally.send(AddAll(vec![1, 2, 3])).await.unwrap().unwrap(), 6);
        assert_eq!(journal.calls(), [vec![3]]);
        let expected = [
            "event 1",
            "handler 1",
            "event 2",
            "handler 2",
            "event 3",
            "handler 3",
            "completed",
        ];
        assert_eq!(log.take()[1..], expected);
    });
}

#[test]
fn persisting_no_events_writes_nothing_and_is_answered_in_its_turn() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(tally.send(AddAll(vec![])).await.unwrap().unwrap(), 0);
        assert!(journal.calls().is_empty());
        assert_eq!(log.take(), ["recovered at 0", "completed"]);
    });
}

#[test]
fn several_events_are_rejected_if_the_journal_has_no_atomic_batches() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal =
            ScriptedJournal::with_capabilities(storage.journal(), JournalCapabilities::default());
        let world = World::on(storage, journal.clone(), |_| {});
        let log = Log::default();
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let error = tally.send(AddAll(vec![1, 2])).await.unwrap().unwrap_err();
        assert!(
            matches!(error, PersistError::Rejected(RejectionCause::Storage(_))),
            "{error:?}"
        );
        assert!(journal.calls().is_empty());
        assert_eq!(tally.send(AddAll(vec![3])).await.unwrap().unwrap(), 3);
    });
}

#[test]
fn an_event_that_cannot_be_encoded_leaves_its_number_to_the_next_one() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Add(6)).await.unwrap().unwrap();
        let too_large = tally.send(AddLarge(7, DEFAULT_EVENT_LIMIT));
        let eighth = tally.send(Add(8));
        let error = too_large.await.unwrap().unwrap_err();
        assert!(
            matches!(error, PersistError::Rejected(RejectionCause::Encode(_))),
            "{error:?}"
        );
        assert!(error.is_not_stored());
        assert_eq!(eighth.await.unwrap().unwrap(), 14);
        let highest = world
            .storage
            .journal()
            .read_highest_sequence_nr(&Tally::new("1", &log).id)
            .await;
        assert_eq!(highest.unwrap(), 2, "numbers are gap-free");
        assert!(log.take().contains(&"rejected 7".to_owned()));
    });
}

#[test]
fn a_rejected_write_leaves_no_gap_and_those_after_it_are_sent_again() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::RejectWritesOf(2));
        let turn = tally.send(Run::new(|_, ctx| {
            let events = |ns: &[i64]| -> Vec<_> {
                let event = |&n| crate::tally::Added {
                    n,
                    ballast: String::new(),
                };
                ns.iter().map(event).collect()
            };
            ctx.persist_all(events(&[1])).detach();
            ctx.persist_all(events(&[20, 30])).detach();
            ctx.persist_all(events(&[4])).detach();
        }));
        turn.await.unwrap();
        assert_eq!(tally.send(Get).await.unwrap(), 5);
        let expected = [
            "recovered at 0",
            "event 1",
            "rejected 20",
            "rejected 30",
            "event 4",
        ];
        assert_eq!(log.take(), expected);
        let highest = world
            .storage
            .journal()
            .read_highest_sequence_nr(&Tally::new("1", &log).id)
            .await;
        assert_eq!(highest.unwrap(), 2);
        assert_eq!(journal.calls(), [vec![1, 2, 1], vec![1]]);
    });
}

#[test]
fn everything_persisted_before_the_recovery_is_rejected_in_order() {
    use actix::Actor;
    use actix_persistence_persistent_actor::{NoSnapshot, PersistentActor, PersistentContext};
    use actix_persistence_storage_api::PersistenceId;

    struct Hasty(Log);
    impl Actor for Hasty {
        type Context = PersistentContext<Self>;
        fn started(&mut self, ctx: &mut Self::Context) {
            ctx.persist(added(1)).detach();
            ctx.persist_all([added(2), added(3)]).detach();
            ctx.persist_async(added(4)).detach();
            ctx.persist_all_async([added(5)])
                .for_each_event(|hasty, _, _| hasty.0.add("handler"))
                .detach();
            ctx.defer(|hasty, _| hasty.0.add("deferred")).detach();
            ctx.defer_async(|hasty, ctx| {
                hasty.0.add("deferred async");
                actix::ActorContext::stop(ctx);
            })
            .detach();
        }
    }
    impl PersistentActor for Hasty {
        type Event = crate::tally::Added;
        type Snapshot = NoSnapshot;
        fn persistence_id(&self) -> PersistenceId {
            PersistenceId::of("Hasty", "1")
        }
        fn on_event(&mut self, _: &crate::tally::Added) {
            self.0.add("event");
        }
        fn on_persist_rejected(
            &mut self,
            cause: &RejectionCause,
            event: &crate::tally::Added,
            _: &mut Self::Context,
        ) {
            self.0.add(format!("{cause}: {}", event.n));
        }
        fn on_recovery_completed(&mut self, _: &mut Self::Context) {
            self.0.add("completed");
        }
    }

    run(|| async {
        collect();
        let ((world, journal), log) = (World::scripted(), Log::default());
        let shared = log.clone();
        let hasty = world.start(move || Hasty(shared.clone())).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let because = "events cannot be persisted before the recovery has completed";
        let rejected = (1..=5).map(|n| format!("{because}: {n}"));
        let expected: Vec<_> = std::iter::once("completed".to_owned())
            .chain(rejected)
            .collect();
        assert_eq!(log.take(), expected);
        assert!(journal.calls().is_empty());
        // The deferred calls too, which have no event to tell the actor about.
        assert_eq!(logged().matches(because).count(), 6);
        drop(hasty);
    });
}

#[test]
fn no_timers_or_futures_run_between_a_command_and_its_handlers() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let turn = tally.send(Run::new(|_, ctx| {
            timer(ctx, Duration::from_millis(1), "timer");
            let future = wrap_future::<_, Tally>(async {});
            ctx.spawn(actix::ActorFutureExt::map(
                future,
                |(), tally: &mut Tally, _| {
                    tally.log.add("future");
                },
            ));
            persist(ctx, 1)
                .then(|tally, _, _| tally.log.add("handler"))
                .detach();
        }));
        turn.await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(log.take(), ["recovered at 0"], "the write is under way");
        journal.release(1);
        tally.send(Get).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let after = log.take();
        assert_eq!(after[..2], ["event 1", "handler"]);
        assert!(after.contains(&"timer".to_owned()) && after.contains(&"future".to_owned()));
    });
}

#[test]
fn a_timer_persists_as_a_command_does() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let turn = Run::new(|_, ctx| {
            ctx.run_later(Duration::from_secs(1), |_, ctx| {
                persist(ctx, 3)
                    .then(|tally, _, _| tally.log.add("handler"))
                    .detach();
            });
        });
        tally.send(turn).await.unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(tally.send(Get).await.unwrap(), 3);
        assert_eq!(log.take(), ["recovered at 0", "event 3", "handler"]);
    });
}

#[test]
fn waits_end_in_the_order_they_were_given_and_hold_back_commands() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let turn = tally.send(Run::new(|_, ctx| {
            for (seconds, entry) in [(2, "wait 1"), (1, "wait 2")] {
                let pause = tokio::time::sleep(Duration::from_secs(seconds));
                let future = wrap_future::<_, Tally>(pause);
                ctx.wait(actix::ActorFutureExt::map(
                    future,
                    move |(), tally: &mut Tally, _| {
                        tally.log.add(entry);
                    },
                ));
            }
        }));
        let next = tally.send(Add(1));
        turn.await.unwrap();
        next.await.unwrap().unwrap();
        assert_eq!(log.take()[1..4], ["wait 1", "wait 2", "command 1"]);
    });
}

#[test]
fn reply_or_close_closes_the_channel_of_a_failed_persist() {
    use actix::{Handler, MailboxError, Message};
    use actix_persistence_persistent_actor::Reply;

    #[derive(Message)]
    #[rtype(result = "i64")]
    struct AddPlain(usize);
    impl Handler<AddPlain> for Tally {
        type Result = Reply<AddPlain>;
        fn handle(&mut self, add: AddPlain, ctx: &mut Self::Context) -> Reply<AddPlain> {
            let ballast = "x".repeat(add.0);
            ctx.persist(crate::tally::Added { n: 1, ballast })
                .reply_or_close(|tally| tally.sum)
        }
    }

    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(tally.send(AddPlain(0)).await.unwrap(), 1);
        let closed = tally.send(AddPlain(DEFAULT_EVENT_LIMIT)).await;
        assert!(matches!(closed, Err(MailboxError::Closed)), "{closed:?}");
    });
}
