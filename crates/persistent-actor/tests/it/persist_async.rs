//! The calls that hold back nothing, and everything mixed and nested.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::wrap_future;
use actix::{Arbiter, AsyncContext, System};
use actix_persistence_journal_actor::{JournalHandle, JournalSettings};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    Environment, NoEvent, Persist, PersistentContext, start, start_in,
};
use actix_persistence_storage_api::Journal;
use actix_persistence_store_actor::StoreThread;

use crate::scripted_journal::{Next, ScriptedJournal};
use crate::tally::{Add, Added, Get, Log, Run, Tally, added, kind, persist, timer};
use crate::world::{World, run};

/// Persists without holding anything back, and writes the handler down.
fn persist_async(ctx: &mut PersistentContext<Tally>, n: i64) {
    ctx.persist_async(added(n))
        .then(|tally, event, _| tally.log.add(format!("handler {}", event.n)))
        .detach();
}

fn note(entry: &'static str) -> Run {
    Run::new(move |tally, _| tally.log.add(entry))
}

/// Returns the log since the recovery.
fn since_recovery(log: &Log) -> Vec<String> {
    log.take().split_off(1)
}

#[test]
fn commands_flow_while_persist_async_stores_and_handlers_run_in_order() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for n in [1, 2] {
            tally
                .send(Run::new(move |_, ctx| persist_async(ctx, n)))
                .await
                .unwrap();
        }
        tally.send(note("command")).await.unwrap();
        assert_eq!(since_recovery(&log), ["command"]);
        journal.release(2);
        // A persist comes behind them.
        let last = tally.send(Add(4));
        journal.release(1);
        assert_eq!(last.await.unwrap().unwrap(), 7);
        let handled: Vec<_> = log
            .take()
            .into_iter()
            .filter(|e| e.starts_with("handler"))
            .collect();
        assert_eq!(handled, ["handler 1", "handler 2", "handler 4"]);
    });
}

#[test]
fn events_that_accumulate_during_a_write_are_the_next_write() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for n in 1..=10 {
            tally
                .send(Run::new(move |_, ctx| persist_async(ctx, n)))
                .await
                .unwrap();
        }
        journal.release(2);
        while tally.send(Get).await.unwrap() < 55 {}
        assert_eq!(journal.calls(), [vec![1], vec![1; 9]]);
    });
}

#[test]
fn a_persist_in_a_persist_async_handler_holds_back_commands_for_a_time() {
    // Akka issue 23781, open since 2017: the next command came too early, and later ones never.
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                ctx.persist_async(added(1))
                    .then(|_, _, ctx| {
                        persist(ctx, 2)
                            .then(|tally, event, _| tally.log.add(format!("handler {}", event.n)))
                            .detach();
                    })
                    .detach();
            }))
            .await
            .unwrap();
        journal.release(1);
        while journal.calls().len() < 2 {
            tokio::task::yield_now().await;
        }
        let command = tally.send(note("command"));
        let mut command = Box::pin(command);
        for _ in 0..100 {
            assert!(futures_util::poll!(&mut command).is_pending());
            tokio::task::yield_now().await;
        }
        assert_eq!(since_recovery(&log), ["event 1"]);
        journal.release(100);
        command.await.unwrap();
        assert_eq!(log.take(), ["event 2", "handler 2", "command"]);
        for n in 3..=50 {
            tally.send(Add(n)).await.unwrap().unwrap();
        }
        assert_eq!(tally.send(Get).await.unwrap(), 50 * 51 / 2);
    });
}

#[test]
fn async_handlers_that_remain_do_not_hold_back_commands() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                persist(ctx, 1)
                    .then(|_, _, ctx| persist_async(ctx, 2))
                    .detach();
            }))
            .await
            .unwrap();
        let command = tally.send(note("command"));
        journal.release(1);
        command.await.unwrap();
        assert_eq!(since_recovery(&log), ["event 1", "command"]);
        journal.release(1);
        while tally.send(Get).await.unwrap() < 3 {}
        assert_eq!(log.take(), ["event 2", "handler 2"]);
    });
}

#[test]
fn deferred_calls_run_in_their_place_among_the_handlers_and_store_nothing() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                persist_async(ctx, 1);
                ctx.defer_async(|tally, _| tally.log.add("deferred 1"))
                    .detach();
                persist_async(ctx, 2);
                ctx.defer(|tally, _| tally.log.add("deferred 2")).detach();
            }))
            .await
            .unwrap();
        tally.send(note("command")).await.unwrap();
        let expected = [
            "event 1",
            "handler 1",
            "deferred 1",
            "event 2",
            "handler 2",
            "deferred 2",
            "command",
        ];
        assert_eq!(since_recovery(&log), expected);
        assert_eq!(journal.calls(), [vec![1, 1]]);
    });
}

#[test]
fn a_deferred_call_alone_runs_after_its_turn_without_the_journal() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.do_send(Run::new(|tally, ctx| {
            ctx.defer(|tally, _| tally.log.add("deferred")).detach();
            tally.log.add("turn");
        }));
        tally.send(note("command")).await.unwrap();
        tally.do_send(Run::new(|tally, ctx| {
            ctx.defer_async(|tally, _| tally.log.add("deferred"))
                .detach();
            tally.log.add("turn");
        }));
        tally.send(note("command")).await.unwrap();
        let once = ["turn", "deferred", "command"];
        assert_eq!(since_recovery(&log), [once, once].concat());
        assert_eq!(journal.calls().len(), 0, "an empty batch never reaches it");
    });
}

#[test]
fn defer_holds_back_commands_and_defer_async_does_not() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                persist_async(ctx, 1);
                ctx.defer_async(|tally, _| tally.log.add("deferred async"))
                    .detach();
            }))
            .await
            .unwrap();
        tally.send(note("command 1")).await.unwrap();
        tally
            .send(Run::new(|_, ctx| {
                ctx.defer(|tally, _| tally.log.add("deferred")).detach();
            }))
            .await
            .unwrap();
        let second = tally.send(note("command 2"));
        journal.release(1);
        second.await.unwrap();
        let expected = [
            "command 1",
            "event 1",
            "handler 1",
            "deferred async",
            "deferred",
            "command 2",
        ];
        assert_eq!(since_recovery(&log), expected);
    });
}

#[test]
fn a_deferred_call_runs_after_a_rejected_persist_but_not_a_failed_one() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let both = || {
            Run::new(|_, ctx| {
                persist(ctx, 1).detach();
                ctx.defer(|tally, _| tally.log.add("deferred")).detach();
            })
        };
        journal.next(Next::RejectWritesOf(1));
        tally.send(both()).await.unwrap();
        tally.send(Get).await.unwrap();
        assert_eq!(since_recovery(&log), ["rejected 1", "deferred"]);
        journal.next(Next::FailNotStored);
        tally.send(both()).await.unwrap();
        tally.send(Get).await.unwrap();
        assert_eq!(log.take(), ["failed 1 at 1: NotStored", "recovered at 0"]);
    });
}

#[test]
fn persist_all_async_is_one_atomic_write_that_holds_back_nothing() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                ctx.persist_all_async([added(1), added(2)])
                    .for_each_event(|tally, event, _| tally.log.add(format!("handler {}", event.n)))
                    .on_complete(|tally, _| tally.log.add("completed"))
                    .detach();
                ctx.persist_all_async([])
                    .on_complete(|tally, _| tally.log.add("empty completed"))
                    .detach();
            }))
            .await
            .unwrap();
        tally.send(note("command")).await.unwrap();
        journal.release(1);
        while tally.send(Get).await.unwrap() < 3 {}
        let expected = [
            "command",
            "event 1",
            "handler 1",
            "event 2",
            "handler 2",
            "completed",
            "empty completed",
        ];
        assert_eq!(since_recovery(&log), expected);
        assert_eq!(journal.calls(), [vec![2]]);
    });
}

#[test]
fn a_completion_runs_after_the_last_handler_and_may_persist() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                ctx.persist_all([added(1), added(2)])
                    .on_complete(|tally, ctx| {
                        tally.log.add("completed");
                        persist(ctx, 3).detach();
                    })
                    .detach();
            }))
            .await
            .unwrap();
        tally.send(note("command")).await.unwrap();
        let expected = ["event 1", "event 2", "completed", "event 3", "command"];
        assert_eq!(since_recovery(&log), expected);
    });
}

#[test]
fn a_completion_does_not_run_when_the_events_are_rejected() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::RejectWritesOf(1));
        tally
            .send(Run::new(|_, ctx| {
                persist(ctx, 1)
                    .on_complete(|tally, _| tally.log.add("completed"))
                    .detach();
            }))
            .await
            .unwrap();
        tally.send(Get).await.unwrap();
        assert_eq!(since_recovery(&log), ["rejected 1"]);
    });
}

#[test]
fn timers_run_while_only_async_calls_are_pending() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                timer(ctx, Duration::from_millis(5), "timer");
                persist_async(ctx, 1);
            }))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(since_recovery(&log), ["timer"]);
        journal.release(1);
        while tally.send(Get).await.unwrap() < 1 {}
        assert_eq!(log.take(), ["event 1", "handler 1"]);
    });
}

#[test]
fn nothing_is_sent_after_a_failed_write() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| persist_async(ctx, 1)))
            .await
            .unwrap();
        tally
            .send(Run::new(|_, ctx| persist_async(ctx, 2)))
            .await
            .unwrap();
        journal.next(Next::FailNotStored);
        journal.release(100);
        // Until the next incarnation is there.
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(tally.send(Get).await.unwrap(), 0);
        assert_eq!(journal.calls(), [vec![1]], "the second one was not sent");
        let told = ["failed 1 at 1: NotStored", "recovered at 0"];
        assert_eq!(since_recovery(&log), told);
        assert_eq!(tally.send(Add(4)).await.unwrap().unwrap(), 4);
    });
}

#[test]
fn a_handler_sends_no_event_after_a_write_that_fails_meanwhile() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let outer = Run::new(|_, ctx| {
            for n in [1, 2] {
                persist(ctx, n)
                    .then(move |_, _, ctx| {
                        persist(ctx, 10 * n).detach();
                    })
                    .detach();
            }
        });
        tally.do_send(outer);
        while journal.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        journal.next(Next::FailNotStored);
        assert_eq!(tally.send(Get).await.unwrap(), 3);
        let sent: usize = journal.calls().iter().map(Vec::len).sum();
        assert!(sent <= 4, "{:?}", journal.calls());
        let id = Tally::new("1", &log).id;
        let journal = world.storage.journal();
        let highest = journal.read_highest_sequence_nr(&id);
        assert_eq!(highest.await.unwrap(), 2, "20 was not stored without 10");
    });
}

impl actix::StreamHandler<i64> for Tally {
    fn handle(&mut self, n: i64, ctx: &mut PersistentContext<Tally>) {
        self.log.add(format!("item {n}"));
        match n % 3 {
            0 => drop(persist(ctx, n)),
            1 => drop(ctx.defer(move |tally, _| tally.log.add(format!("deferred {n}")))),
            _ => drop(ctx.defer_async(move |tally, _| tally.log.add(format!("deferred {n}")))),
        }
    }
}

#[test]
fn every_stream_item_is_a_turn_of_its_own_and_none_is_forgotten() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                ctx.add_stream(futures_util::stream::iter(0..60));
            }))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let expected: Vec<_> = (0..60)
            .flat_map(|n| {
                let after = if n % 3 == 0 { "event" } else { "deferred" };
                [format!("item {n}"), format!("{after} {n}")]
            })
            // As actix's streams do at their end.
            .chain(["stopped".to_owned()])
            .collect();
        assert_eq!(since_recovery(&log), expected);
    });
}

#[test]
fn numbers_are_given_in_the_order_of_the_calls_over_both_kinds() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                for n in 1..=6 {
                    let number =
                        move |tally: &mut Tally,
                              event: &Added,
                              ctx: &mut PersistentContext<Tally>| {
                            tally
                                .log
                                .add(format!("{} is {}", event.n, ctx.last_sequence_nr()));
                        };
                    if n % 2 == 0 {
                        ctx.persist_async(added(n)).then(number).detach();
                    } else {
                        ctx.persist(added(n)).then(number).detach();
                    }
                    ctx.defer_async(|_, _| ()).detach();
                }
            }))
            .await
            .unwrap();
        tally.send(Get).await.unwrap();
        let numbers: Vec<_> = log
            .take()
            .into_iter()
            .filter(|e| e.contains(" is "))
            .collect();
        assert_eq!(
            numbers,
            ["1 is 1", "2 is 2", "3 is 3", "4 is 4", "5 is 5", "6 is 6"]
        );
    });
}

#[test]
fn a_persist_can_be_awaited_in_a_spawned_future() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let awaited = || {
            Run::new(|_, ctx| {
                let persisted = persist(ctx, 1).then(|tally, _, _| tally.log.add("handler"));
                let future = async move { persisted.await.map_err(|error| kind(&error)) };
                let then = actix::fut::ActorFutureExt::map(
                    wrap_future::<_, Tally>(future),
                    |result, tally: &mut Tally, ctx: &mut PersistentContext<Tally>| {
                        tally.log.add(format!("awaited {result:?}"));
                        if result.is_ok() {
                            persist(ctx, 2).detach();
                        }
                    },
                );
                ctx.spawn(then);
            })
        };
        tally.send(awaited()).await.unwrap();
        while tally.send(Get).await.unwrap() < 3 {}
        let expected = ["event 1", "handler", "awaited Ok(())", "event 2"];
        assert_eq!(since_recovery(&log), expected);
        journal.next(Next::RejectWritesOf(1));
        tally.send(awaited()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(log.take(), ["rejected 1", "awaited Err(\"Rejected\")"]);
    });
}

#[test]
fn a_wait_for_a_persist_ends_and_holds_back_commands() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                let persisted = ctx.persist_async(added(1));
                let then = actix::fut::ActorFutureExt::map(
                    wrap_future::<_, Tally>(async move { persisted.await.is_ok() }),
                    |stored, tally: &mut Tally, _: &mut PersistentContext<Tally>| {
                        tally.log.add(format!("waited {stored}"));
                    },
                );
                ctx.wait(then);
            }))
            .await
            .unwrap();
        let command = tally.send(note("command"));
        journal.release(1);
        command.await.unwrap();
        assert_eq!(since_recovery(&log), ["event 1", "waited true", "command"]);
    });
}

#[test]
fn what_is_awaited_after_it_has_happened_is_there_at_once() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                let persisted = persist(ctx, 1);
                let later = async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    persisted.await.is_ok()
                };
                let then = actix::fut::ActorFutureExt::map(
                    wrap_future::<_, Tally>(later),
                    |stored, tally: &mut Tally, _: &mut PersistentContext<Tally>| {
                        tally.log.add(format!("late {stored}"));
                    },
                );
                ctx.spawn(then);
            }))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(since_recovery(&log), ["event 1", "late true"]);
    });
}

#[test]
fn what_is_awaited_first_when_all_is_handled_is_answered_too() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let turn = Run::new(|_, ctx| {
            let kept = Rc::new(RefCell::new(None::<Persist<Tally, NoEvent>>));
            let persisted = Rc::clone(&kept);
            *kept.borrow_mut() = Some(ctx.persist(added(1)).on_complete(move |_, _| {
                let persisted = persisted.take().unwrap().into_future();
                let _ = sender.send(persisted);
            }));
        });
        tally.send(turn).await.unwrap();
        receiver.await.unwrap().await.unwrap();
    });
}

#[test]
fn no_asker_on_a_stopped_arbiter_is_sure_that_nothing_is_stored() {
    // Its clock runs: on one that is paused, time would pass while the other thread works.
    System::new().block_on(async {
        let ((world, journal), log) = (World::held(), Log::default());
        let arbiter = Arbiter::new();
        let handle = arbiter.handle();
        let environment = Arc::clone(&world.environment);
        let starting = start_in(&handle, Tally::factory("1", &log), |_| Ok(environment));
        let tally = starting.await.unwrap();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let turn = Run::new(|_, ctx| {
            let _ = sender.send(persist(ctx, 1).into_future());
        });
        tally.send(turn).await.unwrap();
        let persisted = receiver.await.unwrap();
        while journal.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        arbiter.stop();
        let error = persisted.await.unwrap_err();
        assert!(!error.is_not_stored(), "{error:?}");
        journal.release(1);
    });
}

#[test]
fn a_queue_longer_than_a_turn_lets_others_of_the_arbiter_run() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                for n in 0..10_000 {
                    ctx.persist_async(added(n)).detach();
                }
            }))
            .await
            .unwrap();
        journal.release(100);
        let watched = log.clone();
        let other = actix::spawn(async move {
            let mut turns = 0;
            while watched
                .take()
                .last()
                .is_none_or(|entry| entry != "event 9999")
            {
                // Not tokio's own, which lets everybody else run first.
                let mut yielded = false;
                std::future::poll_fn(|cx| {
                    cx.waker().wake_by_ref();
                    match std::mem::replace(&mut yielded, true) {
                        true => std::task::Poll::Ready(()),
                        false => std::task::Poll::Pending,
                    }
                })
                .await;
                turns += 1;
            }
            turns
        });
        let turns_of_others: usize = other.await.unwrap();
        assert!(turns_of_others > 50, "{turns_of_others}");
    });
}

#[test]
fn a_backlog_over_the_limits_goes_in_several_writes_in_order() {
    run(|| async {
        let storage = MemoryStorage::new();
        let capabilities = storage.journal().capabilities().with_max_group(10, 2_000);
        let journal = ScriptedJournal::with_capabilities(storage.journal(), capabilities);
        let world = World::on(storage, journal.clone(), |_| {});
        let log = Log::default();
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                for n in 0..25 {
                    ctx.persist_async(added(n)).detach();
                }
                // More than fits: alone. Then large ones, by their bytes.
                ctx.persist_all_async((25..40).map(added)).detach();
                for n in 40..43 {
                    ctx.persist_async(Added {
                        n,
                        ballast: "x".repeat(900),
                    })
                    .detach();
                }
            }))
            .await
            .unwrap();
        while tally.send(Get).await.unwrap() < 42 * 43 / 2 {}
        let calls = journal.calls();
        let expected = [
            vec![1; 10],
            vec![1; 10],
            vec![1; 5],
            vec![15],
            vec![1, 1],
            vec![1],
        ];
        assert_eq!(calls, expected);
        let events: Vec<_> = (0..43).map(|n| format!("event {n}")).collect();
        assert_eq!(since_recovery(&log), events);
    });
}

#[test]
fn the_next_write_is_sent_before_the_handlers_of_the_last_one_run() {
    // With the journal on threads of its own: the handler does not let its own go before the write has arrived.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let thread = StoreThread::start("test").unwrap();
    let storage = MemoryStorage::new();
    let journal = ScriptedJournal::held(storage.journal());
    let handle = JournalHandle::start(
        journal.clone(),
        JournalSettings::new("test"),
        runtime.handle().clone(),
        &thread,
    );
    let environment = Arc::new(Environment::new(handle, None));
    actix::System::new().block_on(async move {
        let log = Log::default();
        let tally = start(Tally::factory("1", &log), |_| Ok(environment)).unwrap();
        let watched = journal.clone();
        let first = Run::new(move |_, ctx| {
            ctx.persist_async(added(1))
                .then(move |tally, _, _| {
                    let deadline = std::time::Instant::now() + Duration::from_secs(30);
                    while watched.calls().len() < 2 && std::time::Instant::now() < deadline {
                        std::thread::yield_now();
                    }
                    tally.log.add(format!("{} writes", watched.calls().len()));
                })
                .detach();
        });
        tally.send(first).await.unwrap();
        let second = Run::new(|_, ctx| persist_async(ctx, 2));
        tally.send(second).await.unwrap();
        journal.release(2);
        while tally.send(Get).await.unwrap() < 3 {}
        assert_eq!(
            since_recovery(&log),
            ["event 1", "2 writes", "event 2", "handler 2"]
        );
    });
}
