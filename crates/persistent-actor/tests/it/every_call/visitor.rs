//! An actor that goes to a place and makes a call there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix::fut::wrap_future;
use actix::{
    Actor, ActorContext, ActorFuture, ActorFutureExt, AsyncContext, Handler, Message, StreamHandler,
};
use actix_persistence_persistent_actor::{Environment, PersistError, PersistentActor, Reply};
use futures_util::stream;

use super::{Call, Ctx, SECOND};
use crate::tally::Log;

/// The place at which the call is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    Started,
    RecoveryCompleted,
    Command,
    /// The handler of what was persisted.
    PersistHandler,
    Completion,
    Answer,
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
    DeleteRejected,
    StoreResponse,
    Stopping,
    Stopped,
}

/// The places of every actor.
pub(super) const PLACES: [Place; 19] = [
    Place::Started,
    Place::RecoveryCompleted,
    Place::Command,
    Place::PersistHandler,
    Place::Completion,
    Place::Answer,
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
    Place::Stopping,
    Place::Stopped,
];

/// The situation in which the call is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Situation {
    Alive,
    /// Everything stops since before the place was reached.
    EverythingStops,
    /// The actor was told to stop before the place was reached.
    ItselfStops,
}

/// The task of a visitor, and how much of it is done; every incarnation has it.
pub(super) struct Visit<A: Actor> {
    pub(super) place: Place,
    pub(super) situation: Situation,
    make: fn(&mut A, &mut A::Context),
    pub(super) log: Log,
    /// The number of calls that were made, and of those that returned.
    made: Arc<AtomicUsize>,
    returned: Arc<AtomicUsize>,
}

impl<A: Actor> Visit<A> {
    pub(super) fn new(
        place: Place,
        situation: Situation,
        make: fn(&mut A, &mut A::Context),
        log: Log,
    ) -> Self {
        Self {
            place,
            situation,
            make,
            log,
            made: Arc::default(),
            returned: Arc::default(),
        }
    }

    pub(super) fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    pub(super) fn returned(&self) -> usize {
        self.returned.load(Ordering::Relaxed)
    }
}

impl<A: Actor> Clone for Visit<A> {
    fn clone(&self) -> Self {
        Self {
            place: self.place,
            situation: self.situation,
            make: self.make,
            log: self.log.clone(),
            made: Arc::clone(&self.made),
            returned: Arc::clone(&self.returned),
        }
    }
}

/// An actor of events or of states that visits places.
pub(super) trait Visitor:
    PersistentActor
    + Handler<Go>
    + Handler<There>
    + Handler<Nothing>
    + StreamHandler<u8>
    + StreamHandler<u16>
{
    const PLACES: &'static [Place];

    /// Returns the stores for a visit of this place.
    fn world(place: Place) -> Arc<Environment>;

    fn on(visit: Visit<Self>) -> Self;

    fn visit(&self) -> &Visit<Self>;

    /// Returns the calls that only actors of this kind have.
    fn calls() -> Vec<Call<Self>>;

    /// Returns what calls persist: `persisted` is to be written down when it is handled.
    fn awaited() -> Self::Event;

    /// Returns what is persisted on the way to a place.
    fn on_the_way() -> Self::Event;

    /// Goes to a place that only actors of this kind have, or to which they have a way of their own.
    fn go_elsewhere(ctx: &mut Ctx<Self>, place: Place);

    /// Makes the call the first time the place is reached.
    fn at(&mut self, place: Place, ctx: &mut Ctx<Self>) {
        let visit = self.visit().clone();
        if visit.place == place && visit.made.fetch_add(1, Ordering::Relaxed) == 0 {
            (visit.make)(self, ctx);
            visit.returned.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Goes where the call is to be made.
    fn go(&mut self, ctx: &mut Ctx<Self>) -> Reply<Go> {
        let place = self.visit().place;
        let there = move |actor: &mut Self, ctx: &mut Ctx<Self>| actor.at(place, ctx);
        let mut reply = Reply::now(Ok(()));
        match place {
            Place::Command => self.at(place, ctx),
            Place::PersistHandler => ctx
                .persist(Self::on_the_way())
                .then(move |actor, _, ctx| there(actor, ctx))
                .detach(),
            Place::Completion => ctx.persist(Self::on_the_way()).on_complete(there).detach(),
            Place::Answer => {
                let answer = move |actor: &mut Self, ctx: &mut Ctx<Self>| {
                    there(actor, ctx);
                    Ok(())
                };
                reply = ctx.persist(Self::on_the_way()).reply_with(answer);
            }
            Place::Deferred => ctx.defer(there).detach(),
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
            Place::Rejected | Place::DeleteRejected | Place::StoreResponse => {
                Self::go_elsewhere(ctx, place);
            }
            Place::Started | Place::RecoveryCompleted | Place::Stopping | Place::Stopped => {}
        }
        // Lets timers and streams go on while everything stops.
        ctx.spawn(wrap_future(tokio::time::sleep(10 * SECOND)));
        if self.visit().situation == Situation::ItselfStops {
            ctx.stop();
        }
        reply
    }
}

fn later<A: Visitor>(
    there: impl FnOnce(&mut A, &mut Ctx<A>) + 'static,
) -> impl ActorFuture<A, Output = ()> + 'static {
    wrap_future(tokio::task::yield_now()).map(move |(), actor, ctx| there(actor, ctx))
}

#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
pub(super) struct Go;

#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct There;

#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Nothing;

/// Gives a visitor the hooks and handlers of actix.
macro_rules! visits {
    ($visitor:ty) => {
        impl actix::Actor for $visitor {
            type Context = Ctx<Self>;

            fn started(&mut self, ctx: &mut Ctx<Self>) {
                self.at(Place::Started, ctx);
            }

            fn stopping(&mut self, ctx: &mut Ctx<Self>) -> actix::Running {
                self.at(Place::Stopping, ctx);
                actix::Running::Stop
            }

            fn stopped(&mut self, ctx: &mut Ctx<Self>) {
                self.at(Place::Stopped, ctx);
                self.visit().log.add("stopped");
            }
        }

        impl actix::Handler<Go> for $visitor {
            type Result = Reply<Go>;

            fn handle(&mut self, _: Go, ctx: &mut Ctx<Self>) -> Reply<Go> {
                self.go(ctx)
            }
        }

        impl actix::Handler<There> for $visitor {
            type Result = ();

            fn handle(&mut self, _: There, ctx: &mut Ctx<Self>) {
                self.at(self.visit().place, ctx);
            }
        }

        impl actix::Handler<Nothing> for $visitor {
            type Result = Reply<Nothing>;

            fn handle(&mut self, _: Nothing, _: &mut Ctx<Self>) -> Reply<Nothing> {
                Reply::now(())
            }
        }

        /// The stream in which a call is made.
        impl actix::StreamHandler<u16> for $visitor {
            fn started(&mut self, ctx: &mut Ctx<Self>) {
                self.at(Place::StreamStarted, ctx);
            }

            fn handle(&mut self, _: u16, ctx: &mut Ctx<Self>) {
                self.at(Place::StreamItem, ctx);
            }

            fn finished(&mut self, ctx: &mut Ctx<Self>) {
                self.at(Place::StreamFinished, ctx);
            }
        }

        /// The stream that a call adds.
        impl actix::StreamHandler<u8> for $visitor {
            fn handle(&mut self, _: u8, _: &mut Ctx<Self>) {}

            fn finished(&mut self, _: &mut Ctx<Self>) {}
        }
    };
}

pub(super) use visits;
