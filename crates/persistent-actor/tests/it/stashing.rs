//! Commands that wait: in the internal stash, in those of the actor, and what happens when there are too many.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::{Actor, Addr, Handler, MailboxError, Message};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    NoSnapshot, Overflow, OverflowContext, OverflowReplies, PersistentActor, PersistentContext,
    Reply, StashPolicy,
};
use actix_persistence_storage_api::PersistenceId;
use futures_util::StreamExt;
use tokio::time::Instant;

use crate::scripted_journal::{Next, Scripted, ScriptedJournal};
use crate::stalling_journal::{Stall, StallingJournal};
use crate::tally::{Added, Log, added};
use crate::world::{World, run};

/// Keeps commands aside until it is told to open; writes down what it processes.
struct Door {
    log: Log,
    open: bool,
    policy: Option<StashPolicy>,
}

/// Puts another command aside without returning what it gets for that.
#[derive(Message)]
#[rtype(result = "()")]
struct Forget {
    n: i64,
    and_panic: bool,
}

impl Handler<Forget> for Door {
    type Result = ();

    fn handle(&mut self, forget: Forget, ctx: &mut Self::Context) {
        let _dropped = ctx.stash(pass(forget.n));
        assert!(!forget.and_panic, "scripted");
    }
}

impl Door {
    fn factory(log: &Log, policy: Option<StashPolicy>) -> impl FnMut() -> Self + Unpin + 'static {
        let log = log.clone();
        move || Self {
            log: log.clone(),
            open: false,
            policy: policy.clone(),
        }
    }
}

impl Actor for Door {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Door {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Door", "1")
    }

    fn on_event(&mut self, event: &Added) {
        self.log.add(format!("event {}", event.n));
    }

    fn stash_policy(&self) -> Option<StashPolicy> {
        self.policy.clone()
    }
}

/// Stashed until the door is open; even numbers in a stash of their own if `apart`.
#[derive(Message)]
#[rtype(result = "i64")]
struct Pass {
    n: i64,
    apart: bool,
}

fn pass(n: i64) -> Pass {
    Pass { n, apart: false }
}

impl Handler<Pass> for Door {
    type Result = Reply<Pass>;

    fn handle(&mut self, pass: Pass, ctx: &mut Self::Context) -> Reply<Pass> {
        if self.open {
            self.log.add(format!("pass {}", pass.n));
            Reply::now(pass.n)
        } else if pass.apart && pass.n % 2 == 0 {
            ctx.named_stash("even").stash(pass)
        } else {
            ctx.stash(pass)
        }
    }
}

/// Persists, so that what follows waits in the internal stash.
#[derive(Message)]
#[rtype(result = "()")]
struct Busy(i64);

impl Handler<Busy> for Door {
    type Result = ();

    fn handle(&mut self, busy: Busy, ctx: &mut Self::Context) {
        ctx.persist(added(busy.0)).detach();
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Run(Code);

type Code = Box<dyn FnOnce(&mut Door, &mut PersistentContext<Door>) + Send>;

impl Handler<Run> for Door {
    type Result = ();

    fn handle(&mut self, run: Run, ctx: &mut Self::Context) {
        (run.0)(self, ctx);
    }
}

async fn with(
    door: &Addr<Door>,
    code: impl FnOnce(&mut Door, &mut PersistentContext<Door>) + Send + 'static,
) {
    door.send(Run(Box::new(code))).await.unwrap();
}

fn note(entry: &'static str) -> Run {
    Run(Box::new(move |door, _| door.log.add(entry)))
}

/// Lets the arbiter do everything that can be done.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn unstash_all_runs_stashed_commands_in_order_and_answers_their_askers() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let door = world.start(Door::factory(&log, None)).unwrap();
        let passing: Vec<_> = (1..=3).map(|n| door.send(pass(n))).collect();
        with(&door, |door, ctx| {
            assert_eq!(ctx.named_stash("").len(), 3);
            door.open = true;
            assert_eq!(ctx.unstash_all(), 3);
            assert_eq!(ctx.unstash_all(), 0);
        })
        .await;
        for (n, passing) in (1..).zip(passing) {
            assert_eq!(passing.await.unwrap(), n);
        }
        assert_eq!(log.take(), ["pass 1", "pass 2", "pass 3"]);
    });
}

#[test]
fn unstash_all_goes_before_the_internal_stash_and_unstash_after_it() {
    for one_by_one in [false, true] {
        run(move || async move {
            let storage = MemoryStorage::new();
            let journal = ScriptedJournal::held(storage.journal());
            let world = World::on(storage, journal.clone(), |_| {});
            let log = Log::default();
            let door = world.start(Door::factory(&log, None)).unwrap();
            let passing = [door.send(pass(1)), door.send(pass(2))];
            with(&door, move |door, ctx| {
                door.open = true;
                ctx.persist(added(0))
                    .on_complete(move |_, ctx| {
                        if one_by_one {
                            assert!(ctx.unstash() && ctx.unstash() && !ctx.unstash());
                        } else {
                            ctx.unstash_all();
                        }
                    })
                    .detach();
            })
            .await;
            let waiting = door.send(note("waiting"));
            settle().await;
            journal.release(1);
            for passing in passing {
                passing.await.unwrap();
            }
            waiting.await.unwrap();
            let expected = if one_by_one {
                ["event 0", "waiting", "pass 1", "pass 2"]
            } else {
                ["event 0", "pass 1", "pass 2", "waiting"]
            };
            assert_eq!(log.take(), expected);
        });
    }
}

#[test]
fn an_actor_has_several_stashes_and_each_is_taken_back_by_its_name() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let door = world.start(Door::factory(&log, None)).unwrap();
        for n in 1..=6 {
            door.do_send(Pass { n, apart: true });
        }
        with(&door, |door, ctx| {
            door.open = true;
            assert_eq!(ctx.named_stash("even").unstash_all(), 3);
        })
        .await;
        door.send(note("between")).await.unwrap();
        assert_eq!(log.take(), ["pass 2", "pass 4", "pass 6", "between"]);
        with(&door, |_, ctx| {
            ctx.unstash_all();
        })
        .await;
        door.send(note("end")).await.unwrap();
        assert_eq!(log.take(), ["pass 1", "pass 3", "pass 5", "end"]);
    });
}

#[test]
fn equal_commands_are_never_merged() {
    // Akka.NET up to 1.5.30 lost stashed commands that were equal to one already there.
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let door = world.start(Door::factory(&log, None)).unwrap();
        for _ in 0..5 {
            door.do_send(pass(7));
        }
        with(&door, |door, ctx| {
            door.open = true;
            ctx.unstash_all();
        })
        .await;
        door.send(note("end")).await.unwrap();
        let fives = ["pass 7"; 5];
        assert_eq!(log.take(), [&fives[..], &["end"]].concat());
    });
    run(|| async {
        // The internal stash.
        let waiting = Waiting::with(StashPolicy::default()).await;
        for _ in 0..5 {
            waiting.door.do_send(pass(7));
        }
        settle().await;
        waiting.journal.release(1);
        waiting.door.send(note("end")).await.unwrap();
        let fives = ["pass 7"; 5];
        let expected = [&["event 0"], &fives[..], &["end"]].concat();
        assert_eq!(waiting.log.take(), expected);
    });
}

#[test]
fn unstashing_in_an_async_handler_goes_on_at_once() {
    // Akka issue 19828: it stalled until the next message.
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let door = world.start(Door::factory(&log, None)).unwrap();
        let passing = door.send(pass(1));
        with(&door, |_, ctx| {
            ctx.persist_async(added(0))
                .then(|door, _, ctx| {
                    door.open = true;
                    ctx.unstash_all();
                })
                .detach();
        })
        .await;
        assert_eq!(passing.await.unwrap(), 1);
    });
}

#[test]
fn waiting_commands_keep_their_order_even_if_each_of_them_persists_again() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::held(storage.journal());
        let world = World::on(storage, journal.clone(), |_| {});
        let log = Log::default();
        let door = world.start(Door::factory(&log, None)).unwrap();
        for n in 0..30 {
            door.do_send(Busy(n));
        }
        settle().await;
        for n in 30..60 {
            journal.release(1);
            settle().await;
            door.do_send(Busy(n));
        }
        journal.release(30);
        door.send(note("end")).await.unwrap();
        let expected: Vec<_> = (0..60).map(|n| format!("event {n}")).collect();
        assert_eq!(log.take()[..60], expected);
    });
}

#[test]
fn stashed_commands_come_to_the_next_incarnation_before_waiting_ones() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::new(storage.journal());
        let world = World::on(storage, journal.clone(), |_| {});
        let log = Log::default();
        let mut incarnations = 0;
        let mut factory = Door::factory(&log, None);
        let door = world
            .start(move || {
                incarnations += 1;
                let mut door = factory();
                door.open = incarnations > 1;
                door
            })
            .unwrap();
        let aside = door.send(pass(1));
        settle().await;
        journal.next(Next::FailNotStored);
        door.do_send(Busy(5));
        let waiting = door.send(pass(2));
        assert_eq!(aside.await.unwrap(), 1);
        assert_eq!(waiting.await.unwrap(), 2);
        assert_eq!(log.take(), ["pass 1", "pass 2"]);
    });
}

#[test]
fn without_keep_stash_what_was_put_aside_closes_at_a_failure() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::new(storage.journal());
        let world = World::on(storage, journal.clone(), |environment| {
            environment.back_off.keep_stash = false;
        });
        let log = Log::default();
        let door = world.start(Door::factory(&log, None)).unwrap();
        let aside = door.send(pass(1));
        journal.next(Next::FailNotStored);
        door.do_send(Busy(5));
        assert_eq!(aside.await.unwrap_err(), MailboxError::Closed);
    });
}

#[test]
fn stopping_closes_the_channels_of_what_was_put_aside() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let door = world.start(Door::factory(&log, None)).unwrap();
        let aside = door.send(pass(1));
        with(&door, |_, ctx| actix::ActorContext::stop(ctx)).await;
        assert_eq!(aside.await.unwrap_err(), MailboxError::Closed);
    });
}

#[test]
fn stashed_commands_do_not_keep_an_actor_without_addresses_alive() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let door = world.start(Door::factory(&log, None)).unwrap();
        let aside = door.send(pass(1));
        settle().await;
        drop(door);
        assert_eq!(aside.await.unwrap_err(), MailboxError::Closed);
        settle().await;
        assert!(world.environment.live_ids.is_empty());
    });
}

/// A door that persists behind a held journal, so that everything sent to it waits.
struct Waiting {
    door: Addr<Door>,
    journal: Arc<Scripted>,
    log: Log,
}

impl Waiting {
    async fn with(policy: StashPolicy) -> Self {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::held(storage.journal());
        let world = World::on(storage, journal.clone(), |_| {});
        let log = Log::default();
        let mut factory = Door::factory(&log, Some(policy));
        let open = move || {
            let mut door = factory();
            door.open = true;
            door
        };
        let door = world.start(open).unwrap();
        door.send(Busy(0)).await.unwrap();
        Self { door, journal, log }
    }
}

#[test]
fn overflow_wait_leaves_messages_in_the_mailbox_and_loses_none() {
    run(|| async {
        let waiting = Waiting::with(StashPolicy::new(3, Overflow::Wait)).await;
        let passing: Vec<_> = (0..50).map(|n| waiting.door.send(pass(n))).collect();
        settle().await;
        let taken = (0..100)
            .take_while(|_| waiting.door.try_send(pass(-1)).is_ok())
            .count();
        assert!(taken < 100, "senders are held back");
        waiting.journal.release(1);
        for (n, passing) in (0..).zip(passing) {
            assert_eq!(passing.await.unwrap(), n);
        }
        waiting.door.send(pass(100)).await.unwrap();
        assert_eq!(waiting.log.take().len(), 1 + 50 + taken + 1);
    });
}

#[test]
fn overflow_drop_closes_the_channels_of_what_does_not_fit_and_goes_on() {
    run(|| async {
        let waiting = Waiting::with(StashPolicy::new(3, Overflow::Drop)).await;
        let mut passing: Vec<_> = (0..5).map(|n| waiting.door.send(pass(n))).collect();
        for refused in passing.split_off(3) {
            assert_eq!(refused.await.unwrap_err(), MailboxError::Closed);
        }
        waiting.journal.release(1);
        for (n, passing) in (0..).zip(passing) {
            assert_eq!(passing.await.unwrap(), n);
        }
    });
}

#[test]
fn overflow_fail_rebuilds_the_actor_and_keeps_what_fitted() {
    run(|| async {
        let waiting = Waiting::with(StashPolicy::new(2, Overflow::Fail)).await;
        let mut passing: Vec<_> = (0..3).map(|n| waiting.door.send(pass(n))).collect();
        let refused = passing.pop().unwrap();
        assert_eq!(refused.await.unwrap_err(), MailboxError::Closed);
        waiting.journal.release(1);
        for (n, passing) in (0..).zip(passing) {
            assert_eq!(passing.await.unwrap(), n);
        }
        // The write that was under way was stored; its event comes back with the recovery.
        assert_eq!(waiting.log.take(), ["event 0", "pass 0", "pass 1"]);
    });
}

#[test]
fn overflow_reply_answers_by_the_type_of_the_message() {
    run(|| async {
        let made = Arc::new(AtomicUsize::new(0));
        let counted = made.clone();
        let replies = OverflowReplies::new().with::<Pass>(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            -1
        });
        let waiting = Waiting::with(StashPolicy::new(1, Overflow::Reply(replies))).await;
        let fits = waiting.door.send(pass(1));
        let refused = waiting.door.send(pass(2));
        let unknown = waiting.door.send(note("not registered"));
        assert_eq!(refused.await.unwrap(), -1);
        assert_eq!(unknown.await.unwrap_err(), MailboxError::Closed);
        waiting.journal.release(1);
        assert_eq!(fits.await.unwrap(), 1);
        assert_eq!(made.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_strategy_of_the_application_decides_message_by_message() {
    run(|| async {
        let asked = AtomicUsize::new(0);
        let every_second = move |stash: &OverflowContext<'_>| {
            assert_eq!(stash.capacity, 1);
            assert_eq!(stash.persistence_id, &PersistenceId::of("Door", "1"));
            match asked.fetch_add(1, Ordering::Relaxed) {
                0 => Overflow::Drop,
                _ => Overflow::Wait,
            }
        };
        let waiting = Waiting::with(StashPolicy::custom(1, Arc::new(every_second))).await;
        let mut passing: Vec<_> = (0..4).map(|n| waiting.door.send(pass(n))).collect();
        let refused = passing.remove(1);
        assert_eq!(refused.await.unwrap_err(), MailboxError::Closed);
        waiting.journal.release(1);
        for (n, passing) in [0, 2, 3].into_iter().zip(passing) {
            assert_eq!(passing.await.unwrap(), n);
        }
    });
}

#[test]
fn a_panic_of_the_strategy_or_of_an_answer_leaves_the_address_alive() {
    run(|| async {
        let broken = |_: &OverflowContext<'_>| -> Overflow { panic!("scripted") };
        let waiting = Waiting::with(StashPolicy::custom(1, Arc::new(broken))).await;
        let (fits, refused) = (waiting.door.send(pass(1)), waiting.door.send(pass(2)));
        assert_eq!(refused.await.unwrap_err(), MailboxError::Closed);
        waiting.journal.release(1);
        assert_eq!(fits.await.unwrap(), 1);
        let replies = OverflowReplies::new().with::<Pass>(|| panic!("scripted"));
        let waiting = Waiting::with(StashPolicy::new(1, Overflow::Reply(replies))).await;
        let (fits, refused) = (waiting.door.send(pass(1)), waiting.door.send(pass(2)));
        assert_eq!(refused.await.unwrap_err(), MailboxError::Closed);
        waiting.journal.release(1);
        assert_eq!(fits.await.unwrap(), 1);
    });
}

#[test]
fn an_overflow_during_back_off_follows_the_policy_too() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::new(storage.journal());
        let world = World::on(storage, journal.clone(), |_| {});
        let log = Log::default();
        let policy = Some(StashPolicy::new(1, Overflow::Fail));
        let mut factory = Door::factory(&log, policy);
        let open = move || {
            let mut door = factory();
            door.open = true;
            door
        };
        let door = world.start(open).unwrap();
        journal.next(Next::FailNotStored);
        door.send(Busy(1)).await.unwrap();
        settle().await;
        let before = Instant::now();
        let fits = door.send(pass(1));
        let refused = door.send(pass(2));
        assert_eq!(refused.await.unwrap_err(), MailboxError::Closed);
        assert_eq!(
            before.elapsed(),
            Duration::ZERO,
            "no recovery is waited for"
        );
        assert_eq!(fits.await.unwrap(), 1);
        assert_eq!(log.take(), ["pass 1"]);
    });
}

#[test]
fn a_user_stash_that_is_full_drops_what_does_not_fit() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let policy = Some(StashPolicy::new(2, Overflow::Wait));
        let door = world.start(Door::factory(&log, policy)).unwrap();
        let mut passing: Vec<_> = (0..3).map(|n| door.send(pass(n))).collect();
        let refused = passing.pop().unwrap();
        assert_eq!(refused.await.unwrap_err(), MailboxError::Closed);
        with(&door, |door, ctx| {
            door.open = true;
            ctx.unstash_all();
        })
        .await;
        for (n, passing) in (0..).zip(passing) {
            assert_eq!(passing.await.unwrap(), n);
        }
    });
}

#[test]
fn a_command_whose_asker_has_gone_is_not_processed() {
    run(|| async {
        let waiting = Waiting::with(StashPolicy::default()).await;
        let mut gone = Box::pin(waiting.door.send(pass(1)));
        assert!(futures_util::poll!(&mut gone).is_pending());
        settle().await;
        drop(gone);
        waiting.journal.release(1);
        assert_eq!(waiting.door.send(pass(2)).await.unwrap(), 2);
        assert_eq!(waiting.log.take(), ["event 0", "pass 2"]);
    });
}

#[test]
fn no_more_waits_than_the_capacity_by_default_however_much_is_sent() {
    run(|| async {
        assert!(matches!(
            StashPolicy::default().overflow(),
            Some(Overflow::Drop)
        ));
        let waiting = Waiting::with(StashPolicy::new(4, Overflow::default())).await;
        for _ in 0..10 {
            for n in 0..1_000 {
                waiting.door.do_send(pass(n));
            }
            settle().await;
        }
        waiting.journal.release(1);
        settle().await;
        waiting.door.send(note("end")).await.unwrap();
        let expected = ["event 0", "pass 0", "pass 1", "pass 2", "pass 3", "end"];
        assert_eq!(waiting.log.take(), expected);
    });
}

#[test]
fn askers_that_have_given_up_make_room_for_others() {
    run(|| async {
        for aside in [false, true] {
            let waiting = Waiting::with(StashPolicy::new(3, Overflow::Drop)).await;
            let door = waiting.door;
            if aside {
                waiting.journal.release(1);
                with(&door, |door, _| door.open = false).await;
            }
            let mut impatient: Vec<_> = (1..3).map(|n| Box::pin(door.send(pass(n)))).collect();
            for asking in &mut impatient {
                assert!(futures_util::poll!(asking).is_pending());
            }
            door.do_send(pass(3));
            settle().await;
            drop(impatient);
            let fitting = [door.send(pass(4)), door.send(pass(5))];
            let refused = door.send(pass(6));
            assert_eq!(refused.await.unwrap_err(), MailboxError::Closed);
            if aside {
                with(&door, |door, ctx| {
                    door.open = true;
                    assert_eq!(ctx.unstash_all(), 3);
                })
                .await;
            } else {
                waiting.journal.release(1);
            }
            for (n, fitting) in (4..).zip(fitting) {
                assert_eq!(fitting.await.unwrap(), n);
            }
            let expected = ["event 0", "pass 3", "pass 4", "pass 5"];
            assert_eq!(waiting.log.take(), expected);
        }
    });
}

#[test]
fn two_stashes_are_taken_back_in_the_order_of_the_calls() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let door = world.start(Door::factory(&log, None)).unwrap();
        for n in 1..=4 {
            door.do_send(Pass { n, apart: true });
        }
        with(&door, |door, ctx| {
            door.open = true;
            ctx.named_stash("even").unstash_all();
            ctx.unstash_all();
        })
        .await;
        door.send(note("end")).await.unwrap();
        let expected = ["pass 2", "pass 4", "pass 1", "pass 3", "end"];
        assert_eq!(log.take(), expected);
    });
}

#[test]
fn a_command_that_is_put_aside_without_being_returned_is_not_lost() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let door = world.start(Door::factory(&log, None)).unwrap();
        let forget = |n| Forget {
            n,
            and_panic: false,
        };
        door.send(forget(1)).await.unwrap();
        door.send(forget(2)).await.unwrap();
        with(&door, |door, ctx| {
            door.open = true;
            assert_eq!(ctx.unstash_all(), 2);
        })
        .await;
        door.send(note("end")).await.unwrap();
        assert_eq!(log.take(), ["pass 1", "pass 2", "end"]);
    });
}

#[test]
fn a_handler_that_panics_puts_nothing_aside() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let mut letters = world.environment.dead_letters.subscribe();
        let door = world.start(Door::factory(&log, None)).unwrap();
        let and_panic = true;
        let panicked = door.send(Forget { n: 1, and_panic }).await;
        assert_eq!(panicked.unwrap_err(), MailboxError::Closed);
        with(&door, |_, ctx| assert_eq!(ctx.unstash_all(), 0)).await;
        assert!(letters.next().await.is_some());
    });
}

#[test]
fn an_overflow_while_the_actor_recovers_does_not_end_its_recovery() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = StallingJournal::new(storage.journal(), Stall::TakeOvers);
        let world = World::on(storage, journal.clone(), |_| {});
        let log = Log::default();
        let mut factory = Door::factory(&log, Some(StashPolicy::new(1, Overflow::Fail)));
        let mut incarnations = 0;
        let counting = log.clone();
        let door = world.start(move || {
            incarnations += 1;
            counting.add(format!("incarnation {incarnations}"));
            let mut door = factory();
            door.open = true;
            door
        });
        let door = door.unwrap();
        let fits = door.send(pass(1));
        let refused = door.send(pass(2));
        assert_eq!(refused.await.unwrap_err(), MailboxError::Closed);
        journal.set(Stall::Nothing);
        assert_eq!(fits.await.unwrap(), 1);
        assert_eq!(log.take(), ["incarnation 1", "pass 1"]);
    });
}
