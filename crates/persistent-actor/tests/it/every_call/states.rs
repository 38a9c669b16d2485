//! The calls and hooks of an actor whose current state is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{DurableState, Environment, RejectionCause, Reply};
use actix_persistence_storage_api::{
    PersistenceId, StateCapabilities, StorageError, StorageErrorKind,
};
use actix_persistence_testkit::{
    Hook, Intercepted, Next as Rest, StateAnswer, StateCall, StateStores, Verdict,
};
use async_trait::async_trait;

use super::visitor::{Go, Nothing, PLACES, Place, There, Visit, Visitor, visits};
use super::{Call, Ctx, call, every_call_everywhere, persisting};
use crate::durable_state::memo::{Number, number};
use crate::durable_state::state_world::StateWorld;
use crate::tally::added;

/// The state that is persisted by calls.
const AWAITED: i64 = 7;
/// The state that is rejected.
const REJECTED: &str = "rejected";

struct OfStates {
    visit: Visit<Self>,
    recovered: bool,
}

visits!(OfStates);

/// Takes the events that come with changes for stored, and rejects what it is told to.
struct WithChangeEvents {
    rejects_next_delete: AtomicBool,
}

#[async_trait]
impl Hook<StateStores> for WithChangeEvents {
    async fn call(
        &self,
        call: StateCall,
        rest: Rest<StateStores>,
    ) -> Result<StateAnswer, StorageError> {
        let (call, rejected) = match call {
            StateCall::Upsert { mut update } => {
                update.change_event = None;
                let rejected = update.tags.iter().any(|tag| **tag == *REJECTED);
                (StateCall::Upsert { update }, rejected)
            }
            StateCall::Delete { mut delete } => {
                delete.change_event = None;
                let rejected = self.rejects_next_delete.swap(false, Ordering::Relaxed);
                (StateCall::Delete { delete }, rejected)
            }
            other => (other, false),
        };
        let verdict = match rejected {
            true => Verdict::reject(StorageErrorKind::TooLarge),
            false => Verdict::Pass,
        };
        verdict.carry_out(call, rest).await
    }
}

impl Visitor for OfStates {
    const PLACES: &'static [Place] = &{
        let mut places = [Place::DeleteRejected; PLACES.len() + 1];
        places.split_at_mut(PLACES.len()).0.copy_from_slice(&PLACES);
        places
    };

    fn world(place: Place) -> Arc<Environment> {
        let storage = MemoryStorage::new();
        let hook = WithChangeEvents {
            rejects_next_delete: AtomicBool::new(place == Place::DeleteRejected),
        };
        let capabilities = StateCapabilities::default()
            .with_tags()
            .with_change_events();
        let store = Intercepted::state_store_with(storage.state_store(), hook)
            .with_capabilities(capabilities);
        StateWorld::on(storage, Arc::new(store)).environment
    }

    fn on(visit: Visit<Self>) -> Self {
        let recovered = false;
        Self { visit, recovered }
    }

    fn visit(&self) -> &Visit<Self> {
        &self.visit
    }

    fn calls() -> Vec<Call<Self>> {
        let (call, persisting) = (call::<Self>, persisting::<Self>);
        vec![
            persisting("delete", |_, ctx| {
                ctx.delete().on_complete(|_, _| ()).detach();
            }),
            persisting("persist_with_event", |_, ctx| {
                ctx.persist_with_event(number(AWAITED), &added(1)).detach();
            }),
            persisting("delete_with_event", |_, ctx| {
                ctx.delete_with_event(&added(1)).detach();
            }),
            call("revision", |_, ctx| {
                assert_eq!(ctx.revision(), ctx.last_sequence_nr());
            }),
        ]
    }

    fn awaited() -> Number {
        number(AWAITED)
    }

    fn on_the_way() -> Number {
        number(1)
    }

    fn go_elsewhere(ctx: &mut Ctx<Self>, place: Place) {
        match place {
            Place::Rejected => {
                let mut rejected = number(1);
                rejected.tags.push(REJECTED.to_owned());
                ctx.persist(rejected).detach();
            }
            Place::DeleteRejected => ctx.delete().detach(),
            _ => unreachable!("an actor of states does not go to {place:?}"),
        }
    }
}

impl DurableState for OfStates {
    type State = Number;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Everywhere", "1")
    }

    fn on_state(&mut self, state: Option<&Number>) {
        let deleted = self.recovered && state.is_none();
        if deleted || state.is_some_and(|state| state.n == AWAITED) {
            self.visit.log.add("persisted");
        }
    }

    fn on_recovery_completed(&mut self, ctx: &mut Ctx<Self>) {
        self.recovered = true;
        self.at(Place::RecoveryCompleted, ctx);
    }

    fn on_persist_rejected(
        &mut self,
        cause: &RejectionCause,
        state: Option<&Number>,
        ctx: &mut Ctx<Self>,
    ) {
        let (place, of_the_call) = match state {
            Some(state) => (Place::Rejected, state.n == AWAITED),
            None => (Place::DeleteRejected, self.visit.made() > 0),
        };
        if of_the_call {
            self.visit.log.add(format!("rejected: {cause}"));
        }
        self.at(place, ctx);
    }
}

#[test]
fn every_call_for_a_state_works_in_every_place_of_a_live_or_ending_actor() {
    every_call_everywhere::<OfStates>();
}
