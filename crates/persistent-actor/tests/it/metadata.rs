//! The metadata of commands: with everything that a command leads to in its actor, and with nothing else.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::fut::wrap_future;
use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Handler, Message, StreamHandler};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    Environment, EventMeta, Metadata, NoSnapshot, Overflow, PersistError, PersistentActor,
    PersistentContext, RejectionCause, Reply, StashPolicy, replay_actor, replay_events,
};
use actix_persistence_storage_api::{JournalCapabilities, PersistenceId, ReplayRange};
use futures_util::{StreamExt, stream};

use crate::scripted_journal::{Next, ScriptedJournal};
use crate::tally::{Added, Log, added, chain};
use crate::world::{World, run};

/// Runs code with its context, and writes down what it applies.
struct Clerk {
    log: Log,
    seen: Seen,
    closed: bool,
}

type Seen = Arc<Mutex<Vec<EventMeta>>>;
type Ctx = PersistentContext<Clerk>;

impl Actor for Clerk {
    type Context = Ctx;
}

impl PersistentActor for Clerk {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, _: &Added) {
        unreachable!("on_event_at is implemented")
    }

    fn on_event_at(&mut self, _: &Added, meta: &EventMeta) {
        assert!(Metadata::current().is_empty(), "events are applied without");
        self.seen.lock().unwrap().push(meta.clone());
    }

    fn on_persist_rejected(&mut self, cause: &RejectionCause, event: &Added, ctx: &mut Ctx) {
        let (n, cause, id) = (event.n, chain(cause), correlation(&ctx.metadata()));
        self.log.add(format!("rejected {n} of {id}: {cause}"));
    }
}

/// Runs code in the actor; put aside while it is closed.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Turn(Code);

type Code = Box<dyn FnOnce(&mut Clerk, &mut Ctx) + Send>;

fn turn(code: impl FnOnce(&mut Clerk, &mut Ctx) + Send + 'static) -> Turn {
    Turn(Box::new(code))
}

/// Persists a number without waiting for it.
fn add(n: i64) -> Turn {
    turn(move |_, ctx| ctx.persist_async(added(n)).detach())
}

impl Handler<Turn> for Clerk {
    type Result = Reply<Turn>;

    fn handle(&mut self, turn: Turn, ctx: &mut Ctx) -> Reply<Turn> {
        if self.closed {
            return ctx.stash(turn);
        }
        (turn.0)(self, ctx);
        ctx.defer_async(|_, _| ()).reply(|_| Ok(()))
    }
}

/// Opens a closed clerk.
#[derive(Message)]
#[rtype(result = "()")]
struct Open;

impl Handler<Open> for Clerk {
    type Result = ();

    fn handle(&mut self, _: Open, ctx: &mut Ctx) {
        self.closed = false;
        ctx.unstash_all();
    }
}

/// Persists this number when it comes, from wherever.
#[derive(Message)]
#[rtype(result = "()")]
struct Tick(i64);

impl Handler<Tick> for Clerk {
    type Result = ();

    fn handle(&mut self, Tick(n): Tick, ctx: &mut Ctx) {
        ctx.persist(added(n)).detach();
    }
}

impl StreamHandler<i64> for Clerk {
    fn handle(&mut self, n: i64, ctx: &mut Ctx) {
        if n == 1 {
            ctx.set_metadata(correlated("of an item"));
        }
        ctx.persist(added(n)).detach();
    }

    fn finished(&mut self, _: &mut Ctx) {}
}

fn id() -> PersistenceId {
    PersistenceId::of("Clerk", "1")
}

fn correlated(id: &str) -> Metadata {
    Metadata::new().with_correlation_id(id).unwrap()
}

fn correlation(metadata: &Metadata) -> String {
    metadata.correlation_id().unwrap_or("none").to_owned()
}

fn clerk(world: &World, log: &Log, seen: &Seen) -> Addr<Clerk> {
    let (log, seen) = (log.clone(), Arc::clone(seen));
    let clerk = move || Clerk {
        log: log.clone(),
        seen: Arc::clone(&seen),
        closed: false,
    };
    world.start(clerk).unwrap()
}

fn start(world: &World) -> Addr<Clerk> {
    clerk(world, &Log::default(), &Seen::default())
}

async fn send(clerk: &Addr<Clerk>, metadata: &Metadata, turn: Turn) {
    let answer = metadata.scope(|| clerk.send(turn)).await;
    answer.unwrap().unwrap();
}

/// Returns each stored event as `NUMBER: n CORRELATION<CAUSATION`, in order.
async fn stored(environment: &Environment) -> Vec<String> {
    let all = ReplayRange::ALL;
    let stored = replay_events(
        environment,
        id(),
        all,
        Vec::new(),
        |all, meta, event: Added| {
            let (nr, n, metadata) = (meta.sequence_nr, event.n, &meta.metadata);
            let cause = metadata.causation_id().unwrap_or("none");
            all.push(format!("{nr}: {n} {}<{cause}", correlation(metadata)));
        },
    );
    stored.await.unwrap()
}

/// Returns the events in the order of what they are, and not of their numbers.
fn without_numbers(stored: Vec<String>) -> Vec<String> {
    let what = |line: &String| line.split_once(' ').unwrap().1.to_owned();
    let mut stored: Vec<_> = stored.iter().map(what).collect();
    stored.sort();
    stored
}

/// Lets everything happen that can within a minute.
async fn a_minute() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[test]
fn everything_that_a_command_leads_to_has_its_metadata_and_its_cause() {
    run(|| async {
        let world = World::new();
        let clerk = start(&world);
        let all = turn(|_, ctx| {
            ctx.persist_all([added(1), added(2)])
                .for_each_event(|_, event, ctx| {
                    ctx.persist(added(10 * event.n)).detach();
                })
                .on_complete(|_, ctx| ctx.persist(added(3)).detach())
                .detach();
            ctx.persist_async(added(4)).detach();
            ctx.defer(|_, ctx| ctx.persist(added(5)).detach()).detach();
            ctx.defer_async(|_, ctx| ctx.persist(added(6)).detach())
                .detach();
        });
        send(&clerk, &correlated("a"), all).await;
        clerk.send(add(7)).await.unwrap().unwrap();
        let expected = [
            "1: 1 a<none",
            "2: 2 a<none",
            "3: 4 a<none",
            "4: 10 a<Clerk|1#1",
            "5: 20 a<Clerk|1#2",
            "6: 3 a<Clerk|1#2",
            "7: 5 a<none",
            "8: 6 a<none",
            "9: 7 none<none",
        ];
        assert_eq!(stored(&world.environment).await, expected);
    });
}

#[test]
fn futures_and_timers_have_the_metadata_of_the_turn_that_made_them() {
    run(|| async {
        let world = World::new();
        let clerk = start(&world);
        let makes = turn(|_, ctx| {
            ctx.persist(added(1))
                .then(|_, _, ctx| {
                    ctx.spawn(wrap_future::<_, Clerk>(std::future::ready(())).map(
                        |(), _, ctx: &mut Ctx| {
                            let persisted = ctx.persist(added(2)).into_future();
                            let again = wrap_future::<_, Clerk>(persisted);
                            ctx.spawn(
                                again.map(|_, _, ctx: &mut Ctx| ctx.persist(added(3)).detach()),
                            );
                        },
                    ));
                    ctx.notify(Tick(4));
                })
                .detach();
            ctx.wait(wrap_future::<_, Clerk>(std::future::ready(())).map(
                |(), _, ctx: &mut Ctx| {
                    ctx.persist(added(5)).detach();
                },
            ));
            ctx.run_later(Duration::from_secs(1), |_, ctx| {
                ctx.persist(added(6)).detach();
            });
            ctx.notify_later(Tick(7), Duration::from_secs(2));
            let own = ctx.address();
            ctx.run_later(Duration::from_secs(3), move |_, _| own.do_send(Tick(8)));
        });
        send(&clerk, &correlated("a"), makes).await;
        a_minute().await;
        let expected = [
            "1 a<none",
            "2 a<Clerk|1#1",
            "3 a<Clerk|1#1",
            "4 a<Clerk|1#1",
            "5 a<none",
            "6 a<none",
            "7 a<none",
            "8 a<none",
        ];
        assert_eq!(without_numbers(stored(&world.environment).await), expected);
    });
}

#[test]
fn metadata_that_a_future_sets_is_there_when_it_goes_on() {
    run(|| async {
        let world = World::new();
        let clerk = start(&world);
        let makes = turn(|_, ctx| {
            let sets =
                wrap_future::<_, Clerk>(std::future::ready(())).map(|(), _, ctx: &mut Ctx| {
                    ctx.set_metadata(correlated("b"));
                });
            let sleeps =
                sets.then(|(), _, _| wrap_future(tokio::time::sleep(Duration::from_secs(1))));
            ctx.spawn(sleeps.map(|(), _, ctx: &mut Ctx| ctx.persist(added(2)).detach()));
        });
        send(&clerk, &correlated("a"), makes).await;
        send(&clerk, &correlated("a"), add(1)).await;
        a_minute().await;
        assert_eq!(
            stored(&world.environment).await,
            ["1: 1 a<none", "2: 2 b<none"]
        );
    });
}

#[test]
fn items_of_streams_and_ticks_of_intervals_have_no_metadata() {
    run(|| async {
        let world = World::new();
        let clerk = start(&world);
        let makes = turn(|_, ctx| {
            ctx.add_stream(stream::iter([1, 2]));
            ctx.add_message_stream(stream::iter([Tick(3)]));
            ctx.run_interval(Duration::from_secs(40), |_, ctx| {
                ctx.persist(added(4)).detach();
            });
        });
        send(&clerk, &correlated("a"), makes).await;
        a_minute().await;
        let expected = [
            "1 of an item<none",
            "2 none<none",
            "3 none<none",
            "4 none<none",
        ];
        assert_eq!(without_numbers(stored(&world.environment).await), expected);
    });
}

#[test]
fn items_of_a_stream_that_actix_polls_have_that_of_who_added_it() {
    run(|| async {
        let world = World::new();
        let clerk = start(&world);
        let makes = turn(|_, ctx| {
            <Clerk as StreamHandler<i64>>::add_stream(stream::iter([2, 3]), ctx);
        });
        send(&clerk, &correlated("a"), makes).await;
        a_minute().await;
        let expected = ["2 a<none", "3 a<none"];
        assert_eq!(without_numbers(stored(&world.environment).await), expected);
    });
}

#[test]
fn a_command_keeps_its_metadata_while_it_is_put_aside() {
    run(|| async {
        let (world, journal) = World::scripted();
        let clerk = start(&world);
        // It is let in by another command; then by a failure, after which the actor is open.
        for (id, n, fails) in [("b", 1, false), ("c", 2, true)] {
            let closes = turn(|clerk, _| clerk.closed = true);
            send(&clerk, &correlated("a"), closes).await;
            let sent = correlated(id).with_causation_id("http").unwrap();
            let aside = actix::spawn(sent.scope(|| clerk.send(add(n))));
            tokio::task::yield_now().await;
            correlated("d").in_scope(|| match fails {
                false => clerk.do_send(Open),
                true => {
                    journal.next(Next::FailNotStored);
                    clerk.do_send(Tick(0));
                }
            });
            aside.await.unwrap().unwrap().unwrap();
        }
        let stored = stored(&world.environment).await;
        assert_eq!(stored, ["1: 1 b<http", "2: 2 c<http"]);
    });
}

#[test]
fn commands_that_wait_keep_their_metadata_when_the_actor_is_rebuilt() {
    run(|| async {
        let (world, journal) = World::held();
        let clerk = start(&world);
        journal.next(Next::FailNotStored);
        let fails = turn(|_, ctx| ctx.persist(added(0)).detach());
        let failed = actix::spawn(correlated("a").scope(|| clerk.send(fails)));
        let waits = actix::spawn(correlated("b").scope(|| clerk.send(add(1))));
        tokio::task::yield_now().await;
        journal.release(2);
        failed.await.unwrap().unwrap().unwrap_err();
        waits.await.unwrap().unwrap().unwrap();
        assert_eq!(stored(&world.environment).await, ["1: 1 b<none"]);
    });
}

#[test]
fn a_request_that_waits_for_room_in_a_mailbox_keeps_its_metadata() {
    run(|| async {
        let storage = MemoryStorage::new();
        let journal = ScriptedJournal::held(storage.journal());
        let world = World::on(storage, journal.clone(), |environment| {
            environment.stash_policy = StashPolicy::new(1, Overflow::Wait);
        });
        let clerk = start(&world);
        let holds = turn(|_, ctx| ctx.persist(added(0)).detach());
        let first = actix::spawn(clerk.send(holds));
        while journal.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        while clerk.try_send(Tick(9)).is_ok() {
            tokio::task::yield_now().await;
        }
        let late = correlated("late").scope(|| clerk.send(add(1)));
        journal.release(1_000);
        late.await.unwrap().unwrap();
        first.await.unwrap().unwrap().unwrap();
        let stored = stored(&world.environment).await;
        assert!(
            stored.last().unwrap().ends_with(": 1 late<none"),
            "{stored:?}"
        );
    });
}

#[test]
fn metadata_stays_with_its_events_when_those_are_numbered_again() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let clerk = clerk(&world, &log, &Seen::default());
        journal.next(Next::RejectWritesOf(2));
        let rejects = turn(|_, ctx| {
            ctx.persist_all([added(1), added(2)]).detach();
            ctx.set_metadata(correlated("b"));
            ctx.persist(added(3))
                .then(|_, _, ctx| ctx.persist(added(4)).detach())
                .detach();
        });
        send(&clerk, &correlated("a"), rejects).await;
        send(&clerk, &Metadata::new(), add(5)).await;
        let expected = ["1: 3 b<none", "2: 4 b<Clerk|1#1", "3: 5 none<none"];
        assert_eq!(stored(&world.environment).await, expected);
        let rejected = log.take();
        assert!(rejected[0].starts_with("rejected 1 of a"), "{rejected:?}");
    });
}

#[test]
fn a_causation_id_that_the_actor_sets_is_never_replaced() {
    run(|| async {
        let world = World::new();
        let clerk = start(&world);
        let sets = turn(|_, ctx| {
            let came = ctx.metadata();
            ctx.set_metadata(came.with_user("ann").unwrap());
            ctx.persist(added(1))
                .then(|_, _, ctx| {
                    assert_eq!(ctx.metadata().user(), Some("ann"));
                    ctx.persist(added(2)).detach();
                    let own = ctx.metadata().with_causation_id("own").unwrap();
                    ctx.set_metadata(own);
                    ctx.persist(added(3))
                        .then(|_, _, ctx| ctx.persist(added(4)).detach())
                        .detach();
                })
                .detach();
        });
        let sent = correlated("a").with_causation_id("http").unwrap();
        send(&clerk, &sent, sets).await;
        send(&clerk, &Metadata::new(), add(5)).await;
        let expected = [
            "1: 1 a<http",
            "2: 2 a<Clerk|1#1",
            "3: 3 a<own",
            "4: 4 a<own",
            "5: 5 none<none",
        ];
        assert_eq!(stored(&world.environment).await, expected);
    });
}

#[test]
fn a_handler_that_panics_leaves_no_metadata_for_the_next_turn() {
    run(|| async {
        let world = World::new();
        let clerk = start(&world);
        let panics = turn(|_, ctx| {
            ctx.set_metadata(correlated("b"));
            panic!("scripted");
        });
        correlated("a")
            .scope(|| clerk.send(panics))
            .await
            .unwrap_err();
        assert!(Metadata::current().is_empty());
        clerk.send(add(1)).await.unwrap().unwrap();
        assert_eq!(stored(&world.environment).await, ["1: 1 none<none"]);
    });
}

#[test]
fn live_replayed_and_published_events_have_the_same_metadata() {
    run(|| async {
        let world = World::new();
        let (live, again) = (Seen::default(), Seen::default());
        let mut published = world.environment.published_events.subscribe::<Added>();
        let clerk = clerk(&world, &Log::default(), &live);
        let sent = correlated("a").with_entry("key", "value").unwrap();
        send(
            &clerk,
            &sent,
            turn(|_, ctx| {
                ctx.persist(added(1))
                    .then(|_, _, ctx| ctx.persist(added(2)).detach())
                    .detach();
            }),
        )
        .await;
        send(&clerk, &Metadata::new(), add(3)).await;
        let reader = Clerk {
            log: Log::default(),
            seen: Arc::clone(&again),
            closed: false,
        };
        let environment = Arc::clone(&world.environment);
        replay_actor(reader, environment).await.unwrap();
        let of = |seen: &Seen| -> Vec<_> {
            let seen = seen.lock().unwrap();
            seen.iter().map(|meta| meta.metadata.clone()).collect()
        };
        let expected = [
            sent.clone(),
            sent.with_causation_id("Clerk|1#1").unwrap(),
            Metadata::new(),
        ];
        assert_eq!(of(&live), expected);
        assert_eq!(of(&again), expected);
        for expected in expected {
            let event = published.next().await.unwrap().unwrap();
            assert_eq!(event.metadata, expected);
        }
    });
}

#[test]
fn a_journal_without_metadata_refuses_that_of_the_actor_alone() {
    run(|| async {
        let storage = MemoryStorage::new();
        let without = JournalCapabilities::default().with_atomic_batches();
        let journal = ScriptedJournal::with_capabilities(storage.journal(), without);
        let (world, log, seen) = (
            World::on(storage, journal, |_| {}),
            Log::default(),
            Seen::default(),
        );
        let clerk = clerk(&world, &log, &seen);
        let sets = turn(|_, ctx| {
            ctx.persist(added(1))
                .then(|clerk, _, ctx| {
                    // It is carried on, although it is not stored.
                    clerk.log.add(correlation(&ctx.metadata()));
                })
                .detach();
            ctx.set_metadata(correlated("own"));
            ctx.persist(added(2)).detach();
            ctx.defer(|_, ctx| ctx.persist(added(3)).detach()).detach();
            ctx.run_later(Duration::from_secs(1), |_, ctx| {
                ctx.persist(added(4)).detach();
                ctx.set_metadata(Metadata::new());
                ctx.persist(added(5)).detach();
            });
        });
        send(&clerk, &correlated("a"), sets).await;
        a_minute().await;
        assert_eq!(
            stored(&world.environment).await,
            ["1: 1 none<none", "2: 5 none<none"]
        );
        let log = log.take();
        assert_eq!(log[0], "a");
        for (entry, n) in log[1..].iter().zip(2..=4) {
            assert!(
                entry.starts_with(&format!("rejected {n} of own: ")),
                "{log:?}"
            );
            assert!(entry.contains("keeps no metadata"), "{log:?}");
        }
        assert_eq!(log.len(), 4, "{log:?}");
        let live = seen.lock().unwrap();
        assert!(
            live.iter().all(|meta| meta.metadata.is_empty()),
            "as in replay"
        );
    });
}

#[test]
fn metadata_counts_as_payload_when_a_write_is_cut_to_what_a_journal_takes() {
    run(|| async {
        for (metadata, calls) in [
            (Metadata::new(), [vec![1], vec![1, 1]].to_vec()),
            (
                correlated(&"x".repeat(500)),
                [vec![1], vec![1], vec![1]].to_vec(),
            ),
        ] {
            let storage = MemoryStorage::new();
            let small = JournalCapabilities::default()
                .with_metadata()
                .with_max_group(10, 800);
            let journal = ScriptedJournal::with_capabilities(storage.journal(), small);
            let world = World::on(storage, journal.clone(), |_| {});
            let clerk = start(&world);
            // The first goes alone; the others are made while it is under way.
            let three = turn(|_, ctx| {
                ctx.persist(added(0))
                    .then(|_, _, ctx| {
                        ctx.persist_async(added(1)).detach();
                        ctx.persist_async(added(2)).detach();
                    })
                    .detach();
            });
            send(&clerk, &metadata, three).await;
            send(&clerk, &Metadata::new(), turn(|_, _| ())).await;
            assert_eq!(journal.calls(), calls);
        }
    });
}
