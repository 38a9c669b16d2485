//! The calls and hooks of an actor of events.

use std::sync::{Arc, Mutex};

use actix_persistence_persistent_actor::{
    Environment, PersistentActor, RejectionCause, Reply, SnapshotOffer, StoreResponse,
};
use actix_persistence_storage_api::{PersistenceId, SequenceNr, SnapshotCriteria};

use super::visitor::{Go, Nothing, PLACES, Place, There, Visit, Visitor, visits};
use super::{Call, Ctx, call, every_call_everywhere, persisting};
use crate::scripted_journal::Next;
use crate::tally::{Added, Sum, added};
use crate::world::World;

/// The event that is persisted by calls.
const AWAITED: i64 = 7;

struct OfEvents {
    visit: Visit<Self>,
    responses: Arc<Mutex<Vec<StoreResponse>>>,
}

visits!(OfEvents);

impl Visitor for OfEvents {
    const PLACES: &'static [Place] = &{
        let mut places = [Place::StoreResponse; PLACES.len() + 1];
        places.split_at_mut(PLACES.len()).0.copy_from_slice(&PLACES);
        places
    };

    fn world(place: Place) -> Arc<Environment> {
        let (world, journal) = World::scripted();
        if place == Place::Rejected {
            journal.next(Next::RejectWritesOf(2));
        }
        world.environment
    }

    fn on(visit: Visit<Self>) -> Self {
        let responses = Arc::default();
        Self { visit, responses }
    }

    fn visit(&self) -> &Visit<Self> {
        &self.visit
    }

    fn calls() -> Vec<Call<Self>> {
        let (call, persisting) = (call::<Self>, persisting::<Self>);
        vec![
            persisting("persist_all", |_, ctx| {
                ctx.persist_all([added(AWAITED), added(8)])
                    .for_each_event(|_, _, _| ())
                    .detach();
                ctx.persist_all([]).detach();
            }),
            persisting("persist_all_async", |_, ctx| {
                ctx.persist_all_async([added(AWAITED)]).detach();
            }),
            persisting("tagged", |_, ctx| {
                ctx.tagged(["tag"]).persist(added(AWAITED)).detach();
                ctx.tagged(["tag"]).persist_all([]).detach();
                ctx.tagged(["tag"]).persist_all_async([]).detach();
            }),
            persisting("tagged persist_async", |_, ctx| {
                ctx.tagged(["tag"]).persist_async(added(AWAITED)).detach();
            }),
            call("save_snapshot", |_, ctx| ctx.save_snapshot(&Sum(0))),
            call("delete_snapshot", |_, ctx| ctx.delete_snapshot(1)),
            call("delete_snapshots", |_, ctx| {
                ctx.delete_snapshots(SnapshotCriteria::NONE)
            }),
            call("delete_messages", |_, ctx| {
                ctx.delete_messages(SequenceNr::MAX);
                ctx.delete_messages(0);
            }),
            call("unhandled", |actor, ctx| {
                let response = actor.responses.lock().unwrap().pop();
                response
                    .into_iter()
                    .for_each(|response| ctx.unhandled(response));
            }),
        ]
    }

    fn awaited() -> Added {
        added(AWAITED)
    }

    fn on_the_way() -> Added {
        added(1)
    }

    fn go_elsewhere(ctx: &mut Ctx<Self>, place: Place) {
        match place {
            Place::Rejected => ctx.persist_all([added(1), added(2)]).detach(),
            Place::StoreResponse => ctx.delete_snapshot(1),
            _ => unreachable!("an actor of events does not go to {place:?}"),
        }
    }
}

impl PersistentActor for OfEvents {
    type Event = Added;
    type Snapshot = Sum;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Everywhere", "1")
    }

    fn on_event(&mut self, event: &Added) {
        if event.n == AWAITED {
            self.visit.log.add("persisted");
        }
    }

    fn on_snapshot(&mut self, _: SnapshotOffer<Sum>) {}

    fn on_recovery_completed(&mut self, ctx: &mut Ctx<Self>) {
        self.at(Place::RecoveryCompleted, ctx);
    }

    fn on_persist_rejected(&mut self, cause: &RejectionCause, event: &Added, ctx: &mut Ctx<Self>) {
        if event.n == AWAITED {
            self.visit.log.add(format!("rejected: {cause}"));
        }
        self.at(Place::Rejected, ctx);
    }

    fn on_store_response(&mut self, response: StoreResponse, ctx: &mut Ctx<Self>) {
        self.responses.lock().unwrap().push(response);
        self.at(Place::StoreResponse, ctx);
    }
}

#[test]
fn every_context_call_works_in_every_place_of_a_live_or_ending_actor() {
    every_call_everywhere::<OfEvents>();
}
