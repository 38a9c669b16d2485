//! Every call of the context, in every place where an actor has one, while it lives and while it stops: none panics,
//! none hangs, and the actor ends as it was told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::dev::SendError;
use actix::fut::wrap_future;
use actix::{
    Actor, ActorContext, ActorFuture, ActorFutureExt, ActorState, AsyncContext, Handler, Message,
    Running, SpawnHandle, StreamHandler,
};
use actix_persistence_persistent_actor::{
    PersistentActor, PersistentContext, RejectionCause, Reply, SnapshotOffer, StoreResponse,
    UnfinishedWork,
};
use actix_persistence_storage_api::{PersistenceId, SequenceNr, SnapshotCriteria};
use futures_util::stream;
use tokio::time::Instant;

use crate::scripted_journal::Next;
use crate::tally::{Added, Log, Sum, added};
use crate::world::{World, run};

type Ctx = PersistentContext<Everywhere>;

/// The place at which the call is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Started,
    RecoveryCompleted,
    Command,
    EventHandler,
    Completion,
    Deferred,
    Timer,
    Interval,
    StreamStarted,
    StreamItem,
    StreamFinished,
    MessageOfStream,
    Notified,
    Spawned,
    Waited,
    Rejected,
    StoreResponse,
    Stopping,
    Stopped,
}

const PLACES: [Place; 19] = [
    Place::Started,
    Place::RecoveryCompleted,
    Place::Command,
    Place::EventHandler,
    Place::Completion,
    Place::Deferred,
    Place::Timer,
    Place::Interval,
    Place::StreamStarted,
    Place::StreamItem,
    Place::StreamFinished,
    Place::MessageOfStream,
    Place::Notified,
    Place::Spawned,
    Place::Waited,
    Place::Rejected,
    Place::StoreResponse,
    Place::Stopping,
    Place::Stopped,
];

/// The situation in which the call is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Situation {
    Alive,
    /// Everything stops since before the place was reached.
    EverythingStops,
    /// The actor was told to stop before the place was reached.
    ItselfStops,
}

struct Call {
    name: &'static str,
    make: fn(&mut Everywhere, &mut Ctx),
}

const fn call(name: &'static str, make: fn(&mut Everywhere, &mut Ctx)) -> Call {
    Call { name, make }
}

/// The event that is persisted by calls.
const PERSISTED: i64 = 7;
const SECOND: Duration = Duration::from_secs(1);

const CALLS: &[Call] = &[
    call("address", |actor, ctx| {
        let open = actor.situation != Situation::EverythingStops;
        assert_eq!(ctx.address().connected(), open);
        assert_eq!(ctx.address(), ctx.address());
        ctx.address().do_send(Nothing);
        let sent = ctx.address().try_send(Nothing);
        assert_eq!(matches!(sent, Err(SendError::Closed(_))), !open);
        drop(ctx.address().send(Nothing));
        drop(ctx.address().recipient::<Nothing>());
        assert_eq!(ctx.address().downgrade().upgrade().is_some(), open);
    }),
    call("notify", |_, ctx| ctx.notify(Nothing)),
    call("notify_later", |_, ctx| {
        ctx.notify_later(Nothing, SECOND);
    }),
    call("run_later", |_, ctx| {
        ctx.run_later(SECOND, |_, _| ());
    }),
    call("run_interval", |_, ctx| {
        ctx.run_interval(SECOND, |_, _| ());
    }),
    call("run_interval_at", |_, ctx| {
        ctx.run_interval_at(Instant::now(), SECOND, |_, _| ());
    }),
    call("spawn", |_, ctx| {
        ctx.spawn(wrap_future(tokio::time::sleep(SECOND)));
    }),
    call("wait", |_, ctx| {
        ctx.wait(wrap_future(tokio::time::sleep(SECOND)))
    }),
    call("waiting", |_, ctx| {
        ctx.waiting();
    }),
    call("cancel_future", |_, ctx| {
        let spawned = ctx.spawn(wrap_future(std::future::pending()));
        assert!(ctx.cancel_future(spawned));
        assert!(!ctx.cancel_future(SpawnHandle::default()));
    }),
    call("add_stream", |_, ctx| {
        ctx.add_stream(stream::iter([0_u8]));
    }),
    call("add_message_stream", |_, ctx| {
        ctx.add_message_stream(stream::iter([Nothing]));
    }),
    call("state", |actor, ctx| {
        let expected = match actor.place {
            Place::Started => ActorState::Started,
            Place::Stopping => ActorState::Stopping,
            Place::Stopped => ActorState::Stopped,
            _ => ActorState::Running,
        };
        assert_eq!(ctx.state(), expected);
    }),
    call("stop", |_, ctx| ctx.stop()),
    call("terminate", |_, ctx| ctx.terminate()),
    call("persist", |_, ctx| {
        drop(ctx.persist(added(PERSISTED)).then(|_, _, _| ()));
    }),
    call("persist_all", |_, ctx| {
        drop(ctx.persist_all([added(PERSISTED), added(8)]));
        drop(ctx.persist_all([]));
    }),
    call("persist_async", |_, ctx| {
        drop(ctx.persist_async(added(PERSISTED)));
    }),
    call("persist_all_async", |_, ctx| {
        drop(ctx.persist_all_async([added(PERSISTED)]));
    }),
    call("persist awaited", |_, ctx| {
        let persisted = ctx.persist(added(PERSISTED)).into_future();
        ctx.spawn(wrap_future(persisted).map(|_, _, _| ()));
    }),
    call("defer", |_, ctx| drop(ctx.defer(|_, _| ()))),
    call("defer_async", |_, ctx| drop(ctx.defer_async(|_, _| ()))),
    call("save_snapshot", |_, ctx| ctx.save_snapshot(&Sum(0))),
    call("delete_snapshot", |_, ctx| ctx.delete_snapshot(1)),
    call("delete_snapshots", |_, ctx| {
        ctx.delete_snapshots(SnapshotCriteria::NONE)
    }),
    call("delete_messages", |_, ctx| {
        ctx.delete_messages(SequenceNr::MAX);
        ctx.delete_messages(0);
    }),
    call("load_snapshot", |_, ctx| {
        let loading = ctx.load_snapshot(SnapshotCriteria::LATEST);
        ctx.spawn(wrap_future(loading).map(|_, _, _| ()));
    }),
    call("stash", |_, ctx| drop(ctx.stash(Nothing))),
    call("unstash", |_, ctx| {
        ctx.unstash();
        ctx.unstash_all();
    }),
    call("user_stash", |_, ctx| {
        let stash = ctx.user_stash("other");
        drop(stash.stash(Nothing));
        assert!(!stash.is_empty());
        assert_eq!(stash.unstash_all(), 1);
    }),
    call("reply_to", |_, ctx| {
        let _ = ctx.reply_to::<Nothing>().send(());
    }),
    call("unhandled", |actor, ctx| {
        let response = actor.responses.lock().unwrap().pop();
        response
            .into_iter()
            .for_each(|response| ctx.unhandled(response));
    }),
    call("numbers", |actor, ctx| {
        assert_eq!(ctx.persistence_id(), &actor.persistence_id());
        assert!(ctx.snapshot_sequence_nr() <= ctx.last_sequence_nr());
        let recovering = actor.place == Place::Started;
        assert_eq!(ctx.is_recovering(), recovering);
        assert_eq!(ctx.is_recovery_finished(), !recovering);
        assert!(format!("{ctx:?}").contains("Everywhere"));
    }),
];

struct Everywhere {
    place: Place,
    situation: Situation,
    make: fn(&mut Everywhere, &mut Ctx),
    /// The number of calls that were made, and of those that returned.
    made: Arc<AtomicUsize>,
    returned: Arc<AtomicUsize>,
    responses: Arc<Mutex<Vec<StoreResponse>>>,
    log: Log,
}

impl Everywhere {
    /// Makes the call the first time the place is reached.
    fn at(&mut self, place: Place, ctx: &mut Ctx) {
        if self.place == place && self.made.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.make)(self, ctx);
            self.returned.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Goes where the call is to be made.
    fn go(&mut self, ctx: &mut Ctx) {
        let place = self.place;
        let there = move |actor: &mut Self, ctx: &mut Ctx| actor.at(place, ctx);
        match place {
            Place::Command => self.at(place, ctx),
            Place::EventHandler => drop(
                ctx.persist(added(1))
                    .then(move |actor, _, ctx| there(actor, ctx)),
            ),
            Place::Completion => drop(ctx.persist(added(1)).on_complete(there)),
            Place::Deferred => drop(ctx.defer(there)),
            Place::Timer => {
                ctx.run_later(SECOND, there);
            }
            Place::Interval => {
                ctx.run_interval(SECOND, there);
            }
            Place::StreamStarted | Place::StreamItem | Place::StreamFinished => {
                ctx.add_stream(stream::iter([0_u16]));
            }
            Place::MessageOfStream => ctx.add_message_stream(stream::iter([There])),
            Place::Notified => ctx.notify(There),
            Place::Spawned => {
                ctx.spawn(later(there));
            }
            Place::Waited => ctx.wait(later(there)),
            Place::Rejected => drop(ctx.persist_all([added(1), added(2)])),
            Place::StoreResponse => ctx.delete_snapshot(1),
            Place::Started | Place::RecoveryCompleted | Place::Stopping | Place::Stopped => {}
        }
        // Lets timers and streams go on while everything stops.
        ctx.spawn(wrap_future(tokio::time::sleep(10 * SECOND)));
        if self.situation == Situation::ItselfStops {
            ctx.stop();
        }
    }
}

fn later(
    there: impl FnOnce(&mut Everywhere, &mut Ctx) + 'static,
) -> impl ActorFuture<Everywhere, Output = ()> + 'static {
    wrap_future(tokio::task::yield_now()).map(move |(), actor, ctx| there(actor, ctx))
}

impl Actor for Everywhere {
    type Context = Ctx;

    fn started(&mut self, ctx: &mut Ctx) {
        self.at(Place::Started, ctx);
    }

    fn stopping(&mut self, ctx: &mut Ctx) -> Running {
        self.at(Place::Stopping, ctx);
        Running::Stop
    }

    fn stopped(&mut self, ctx: &mut Ctx) {
        self.at(Place::Stopped, ctx);
        self.log.add("stopped");
    }
}

impl PersistentActor for Everywhere {
    type Event = Added;
    type Snapshot = Sum;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Everywhere", "1")
    }

    fn on_event(&mut self, event: &Added) {
        if event.n == PERSISTED {
            self.log.add("persisted");
        }
    }

    fn on_snapshot(&mut self, _: SnapshotOffer<Sum>) {}

    fn on_recovery_completed(&mut self, ctx: &mut Ctx) {
        self.at(Place::RecoveryCompleted, ctx);
    }

    fn on_persist_rejected(&mut self, cause: &RejectionCause, event: &Added, ctx: &mut Ctx) {
        if event.n == PERSISTED {
            self.log.add(format!("rejected: {cause}"));
        }
        self.at(Place::Rejected, ctx);
    }

    fn on_store_response(&mut self, response: StoreResponse, ctx: &mut Ctx) {
        self.responses.lock().unwrap().push(response);
        self.at(Place::StoreResponse, ctx);
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Go;

impl Handler<Go> for Everywhere {
    type Result = ();

    fn handle(&mut self, _: Go, ctx: &mut Ctx) {
        self.go(ctx);
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct There;

impl Handler<There> for Everywhere {
    type Result = ();

    fn handle(&mut self, _: There, ctx: &mut Ctx) {
        self.at(self.place, ctx);
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Nothing;

impl Handler<Nothing> for Everywhere {
    type Result = Reply<Nothing>;

    fn handle(&mut self, _: Nothing, _: &mut Ctx) -> Reply<Nothing> {
        Reply::now(())
    }
}

/// The stream in which a call is made.
impl StreamHandler<u16> for Everywhere {
    fn started(&mut self, ctx: &mut Ctx) {
        self.at(Place::StreamStarted, ctx);
    }

    fn handle(&mut self, _: u16, ctx: &mut Ctx) {
        self.at(Place::StreamItem, ctx);
    }

    fn finished(&mut self, ctx: &mut Ctx) {
        self.at(Place::StreamFinished, ctx);
    }
}

/// The stream that a call adds.
impl StreamHandler<u8> for Everywhere {
    fn handle(&mut self, _: u8, _: &mut Ctx) {}

    fn finished(&mut self, _: &mut Ctx) {}
}

/// Returns whether an actor that was told to stop still gets there.
fn is_reached(place: Place, situation: Situation) -> bool {
    let after_a_stop = [
        Place::Started,
        Place::RecoveryCompleted,
        Place::Command,
        Place::EventHandler,
        Place::Completion,
        Place::Deferred,
        Place::Rejected,
        Place::Stopping,
        Place::Stopped,
    ];
    situation != Situation::ItselfStops || after_a_stop.contains(&place)
}

/// Returns whether the call itself leaves this undone: commands that are never taken back, or that come after a stop.
fn is_meant(call: &Call, work: UnfinishedWork) -> bool {
    match call.name {
        "terminate" => true,
        "stop" | "stash" | "user_stash" => work == UnfinishedWork::Declined,
        _ => false,
    }
}

/// Makes one call in one place, and gives what there is to complain about.
async fn complaint(place: Place, situation: Situation, call: &Call) -> Option<String> {
    let ((world, journal), log) = (World::scripted(), Log::default());
    let (made, returned) = (Arc::default(), Arc::default());
    let (incarnations, responses) = (Arc::new(AtomicUsize::new(0)), Arc::default());
    let make = call.make;
    let factory = {
        let (made, returned) = (Arc::clone(&made), Arc::clone(&returned));
        let (log, incarnations) = (log.clone(), Arc::clone(&incarnations));
        move || {
            incarnations.fetch_add(1, Ordering::Relaxed);
            Everywhere {
                place,
                situation,
                make,
                made: Arc::clone(&made),
                returned: Arc::clone(&returned),
                responses: Arc::clone(&responses),
                log: log.clone(),
            }
        }
    };
    if place == Place::Rejected {
        journal.next(Next::RejectWritesOf(2));
    }
    let address = world.start(factory).unwrap();
    address.do_send(Go);
    if situation != Situation::EverythingStops {
        // Everything has happened by then, and intervals have ticked.
        tokio::time::sleep(60 * SECOND).await;
    }
    if situation == Situation::Alive && matches!(place, Place::Stopping | Place::Stopped) {
        drop(address);
        tokio::time::sleep(60 * SECOND).await;
    }
    let drain = world.environment.live_ids.drain();
    if tokio::time::timeout(600 * SECOND, drain.finished())
        .await
        .is_err()
    {
        return Some(format!("it does not end: {:?}", drain.unfinished()));
    }
    let entries = log.take();
    let count = |entry: &str| entries.iter().filter(|found| *found == entry).count();
    let (made, returned) = (
        made.load(Ordering::Relaxed),
        returned.load(Ordering::Relaxed),
    );
    let persists = call.name.starts_with("persist") && returned > 0;
    let refused = entries.iter().any(|entry| entry.starts_with("rejected"));
    let is_refused = matches!(place, Place::Started | Place::Stopped);
    let complaints = [
        (
            is_reached(place, situation) && made == 0,
            "the place is not reached",
        ),
        (returned != made.min(1), "the call panicked"),
        (
            incarnations.load(Ordering::Relaxed) != 1,
            "the actor was rebuilt",
        ),
        (count("stopped") != 1, "it has not stopped once"),
        (
            persists && refused != is_refused,
            "refused where it should not be, or not where it should",
        ),
        (
            persists && !is_refused && count("persisted") != 1,
            "what was persisted was not handled",
        ),
        (
            !drain
                .unfinished()
                .iter()
                .all(|left| is_meant(call, left.work)),
            "it has left something undone",
        ),
    ];
    let found = complaints.iter().find(|(wrong, _)| *wrong);
    found.map(|(_, complaint)| format!("{complaint} {entries:?} {:?}", drain.unfinished()))
}

#[test]
fn every_context_call_works_in_every_place_of_a_live_or_ending_actor() {
    // Each place has a run of its own, for a run ends after a day of its clock.
    for place in PLACES {
        run(move || every_call_in(place));
    }
}

async fn every_call_in(place: Place) {
    let situations = [
        Situation::Alive,
        Situation::EverythingStops,
        Situation::ItselfStops,
    ];
    let mut complaints = Vec::new();
    for situation in situations {
        for call in CALLS {
            if let Some(found) = complaint(place, situation, call).await {
                let name = call.name;
                complaints.push(format!("{name} in {place:?}, {situation:?}: {found}"));
            }
        }
    }
    assert!(
        complaints.is_empty(),
        "{}: {complaints:#?}",
        complaints.len()
    );
}
