//! Every call of the context, in every place where an actor has one, while it lives and while it stops: none panics,
//! none hangs, and the actor ends as it was told.
//!
//! The calls and hooks that actors of events and of states share are here. A call or a hook that is in neither list is found by
//! `cargo xtask tidy`.

mod events;
mod states;
mod visitor;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::dev::SendError;
use actix::fut::wrap_future;
use actix::{Actor, ActorContext, ActorFutureExt, ActorState, Addr, AsyncContext, SpawnHandle};
use actix_persistence_persistent_actor::{
    Environment, Metadata, PersistentActor, PersistentContext, UnfinishedWork,
};
use actix_persistence_storage_api::SnapshotCriteria;
use futures_util::stream;
use tokio::time::Instant;

use self::visitor::{Go, Nothing, Place, Situation, Visit, Visitor};
use crate::tally::Log;
use crate::world::run;

type Ctx<A> = PersistentContext<A>;

const SECOND: Duration = Duration::from_secs(1);

struct Call<A: Actor> {
    name: &'static str,
    make: fn(&mut A, &mut A::Context),
    /// It persists what the visitor writes down, once.
    persists: bool,
}

const fn call<A: Actor>(name: &'static str, make: fn(&mut A, &mut A::Context)) -> Call<A> {
    Call {
        name,
        make,
        persists: false,
    }
}

const fn persisting<A: Actor>(name: &'static str, make: fn(&mut A, &mut A::Context)) -> Call<A> {
    Call {
        name,
        make,
        persists: true,
    }
}

/// Returns the calls that every context has.
fn calls<A: Visitor>() -> Vec<Call<A>> {
    let (call, persisting) = (call::<A>, persisting::<A>);
    vec![
        call("address", |actor, ctx| {
            let open = actor.visit().situation != Situation::EverythingStops;
            assert_eq!(ctx.address().connected(), open);
            assert_eq!(ctx.address(), ctx.address());
            ctx.address().do_send(Nothing);
            let sent = ctx.address().try_send(Nothing);
            assert_eq!(matches!(sent, Err(SendError::Closed(_))), !open);
            drop(ctx.address().send(Nothing));
            drop(ctx.address().recipient::<Nothing>());
            assert_eq!(ctx.address().downgrade().upgrade().is_some(), open);
        }),
        call("metadata", |_, ctx| {
            let metadata = Metadata::new().with_user("ann").unwrap();
            ctx.set_metadata(metadata.clone());
            assert_eq!(ctx.metadata(), metadata);
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
            let expected = match actor.visit().place {
                Place::Started => ActorState::Started,
                Place::Stopping => ActorState::Stopping,
                Place::Stopped => ActorState::Stopped,
                _ => ActorState::Running,
            };
            assert_eq!(ctx.state(), expected);
        }),
        call("stop", |_, ctx| ctx.stop()),
        call("terminate", |_, ctx| ctx.terminate()),
        persisting("persist", |_, ctx| {
            ctx.persist(A::awaited()).then(|_, _, _| ()).detach();
        }),
        persisting("persist_async", |_, ctx| {
            let persisted = ctx.persist_async(A::awaited());
            persisted.on_complete(|_, _| ()).detach();
        }),
        persisting("persist with replies", |_, ctx| {
            drop(ctx.persist(A::awaited()).reply::<Go>(|_| Ok(())));
            drop(ctx.defer(|_, _| ()).reply_with::<Go>(|_, _| Ok(())));
            drop(ctx.defer(|_, _| ()).reply_or_close::<Nothing>(|_| ()));
        }),
        persisting("persist awaited", |_, ctx| {
            let persisted = ctx.persist(A::awaited()).into_future();
            ctx.spawn(wrap_future(persisted).map(|_, _, _| ()));
        }),
        call("defer", |_, ctx| ctx.defer(|_, _| ()).detach()),
        call("defer_async", |_, ctx| ctx.defer_async(|_, _| ()).detach()),
        call("load_snapshot", |_, ctx| {
            let loading = ctx.load_snapshot(SnapshotCriteria::LATEST);
            ctx.spawn(wrap_future(loading).map(|_, _, _| ()));
        }),
        call("stash", |_, ctx| drop(ctx.stash(Nothing))),
        call("unstash", |_, ctx| {
            ctx.unstash();
            ctx.unstash_all();
        }),
        call("named_stash", |_, ctx| {
            let stash = ctx.named_stash("other");
            drop(stash.stash(Nothing));
            assert!(!stash.is_empty());
            assert!(stash.unstash());
            assert_eq!(stash.len(), 0);

            drop(stash.stash(Nothing));
            assert_eq!(stash.unstash_all(), 1);
        }),
        call("reply_to", |_, ctx| {
            let _ = ctx.reply_to::<Nothing>().send(());
        }),
        call("numbers", |actor, ctx| {
            assert_eq!(ctx.persistence_id(), &actor.persistence_id());
            assert!(ctx.snapshot_sequence_nr() <= ctx.last_sequence_nr());
            let recovering = actor.visit().place == Place::Started;
            assert_eq!(ctx.is_recovering(), recovering);
            assert_eq!(ctx.is_recovery_finished(), !recovering);
            assert!(format!("{ctx:?}").contains(ctx.persistence_id().as_str()));
        }),
    ]
}

/// Returns whether an actor that was told to stop still gets there.
fn is_reached(place: Place, situation: Situation) -> bool {
    let after_a_stop = [
        Place::Started,
        Place::RecoveryCompleted,
        Place::Command,
        Place::PersistHandler,
        Place::Completion,
        Place::Answer,
        Place::Deferred,
        Place::Rejected,
        Place::DeleteRejected,
        Place::Stopping,
        Place::Stopped,
    ];
    situation != Situation::ItselfStops || after_a_stop.contains(&place)
}

/// Returns whether the call itself leaves this undone: commands that are never taken back, or that come after a stop.
fn is_meant<A: Actor>(call: &Call<A>, work: UnfinishedWork) -> bool {
    match call.name {
        "terminate" => true,
        "stop" | "stash" | "named_stash" => work == UnfinishedWork::Declined,
        _ => false,
    }
}

/// Makes one call in one place, and gives what there is to complain about.
async fn complaint<A: Visitor>(
    place: Place,
    situation: Situation,
    call: &Call<A>,
) -> Option<String> {
    let (world, log) = (A::world(place), Log::default());
    let visit = Visit::<A>::new(place, situation, call.make, log.clone());
    let incarnations = Arc::new(AtomicUsize::new(0));
    let factory = {
        let (visit, incarnations) = (visit.clone(), Arc::clone(&incarnations));
        move || {
            incarnations.fetch_add(1, Ordering::Relaxed);
            A::on(visit.clone())
        }
    };
    let address = start(&world, factory);
    // An asker that waits, for without one nothing is answered.
    let asked = address.send(Go);
    if situation != Situation::EverythingStops {
        // Everything has happened by then, and intervals have ticked.
        tokio::time::sleep(60 * SECOND).await;
    }
    if situation == Situation::Alive && matches!(place, Place::Stopping | Place::Stopped) {
        drop(address);
        tokio::time::sleep(60 * SECOND).await;
    }
    let drain = world.live_ids.drain();
    if tokio::time::timeout(600 * SECOND, drain.finished())
        .await
        .is_err()
    {
        return Some(format!("it does not end: {:?}", drain.unfinished()));
    }
    drop(asked);
    let entries = log.take();
    let count = |entry: &str| entries.iter().filter(|found| *found == entry).count();
    let (made, returned) = (visit.made(), visit.returned());
    let persists = call.persists && returned > 0;
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

fn start<A: PersistentActor>(
    world: &Arc<Environment>,
    factory: impl FnMut() -> A + Unpin + 'static,
) -> Addr<A> {
    let environment = Arc::clone(world);
    actix_persistence_persistent_actor::start(factory, move |_| Ok(environment)).unwrap()
}

/// Makes every call in every place, in every situation.
fn every_call_everywhere<A: Visitor>() {
    // Each place has a run of its own, for a run ends after a day of its clock.
    for place in A::PLACES {
        run(move || every_call_in::<A>(*place));
    }
}

async fn every_call_in<A: Visitor>(place: Place) {
    let situations = [
        Situation::Alive,
        Situation::EverythingStops,
        Situation::ItselfStops,
    ];
    let all: Vec<Call<A>> = calls().into_iter().chain(A::calls()).collect();
    let mut complaints = Vec::new();
    for situation in situations {
        for call in &all {
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
