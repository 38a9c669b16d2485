//! The handling of a call whose fate is known.

use std::iter;
use std::sync::Arc;

use actix_persistence_storage_api::Timestamp;

use crate::actor::stored_as::StateHooks;
use crate::driver::incarnation::{Failure, Incarnation};
use crate::driver::log;
use crate::metadata::carried::Carried;
use crate::persisting::pending::{Fate, Settled, fail, unanswered};
use crate::persisting::persisted_events::PersistedEvents;
use crate::{EventMeta, PersistError, PersistentActor, RejectionCause};

impl<A: PersistentActor> Incarnation<A> {
    /// Runs the handlers of a stored call, reports a rejected one to the actor, and ends with a failed one.
    pub(super) fn handle(&mut self, settled: Settled<A>) -> Result<(), Failure> {
        match settled.fate {
            Fate::Stored { first, timestamp } => self.handle_stored(settled, first, timestamp),
            Fate::Rejected(ref cause) => {
                let cause = cause.clone();
                self.handle_rejected(settled, cause)
            }
            Fate::Failed { ref error, first } => {
                let error = PersistError::from_failure(error.clone());
                Err(self.handle_failed(settled, error, first))
            }
        }
    }

    fn handle_stored(
        &mut self,
        settled: Settled<A>,
        first: u64,
        timestamp: Timestamp,
    ) -> Result<(), Failure> {
        if first > 0 {
            self.has_stored = true;
            settled.cause.note_stored();
        }
        let Settled {
            events,
            beside,
            attached,
            cause,
            ..
        } = settled;
        let unanswered = unanswered(first);
        let handlers = attached.borrow_mut().take_handlers();
        let carried = beside.carried();
        let caused = carried.clone();
        // Returns the number of the last event, or of the delete.
        let handled = self.caused_turn(&cause, Carried::NOTHING, move |actor, ctx| {
            let (mut handlers, mut last) = (handlers, None);
            for (sequence_nr, event) in (first..).zip(events.iter()) {
                ctx.last_sequence_nr = sequence_nr;
                let meta = EventMeta {
                    sequence_nr,
                    timestamp,
                    metadata: beside.stored().clone(),
                    replayed: false,
                };
                actor.on_event_at(event, &meta);
                last = Some(sequence_nr);
                if handlers.is_empty() {
                    continue;
                }
                let _scope = caused.after(&ctx.persistence_id, sequence_nr).enter();
                for handler in &mut handlers {
                    handler(actor, event, ctx);
                }
                // Before the next event changes the state.
                ctx.tag_events(actor);
            }
            if let Some(hooks) = Self::deletes(&events) {
                ctx.last_sequence_nr = first;
                (hooks.on_none)(actor);
                last = Some(first);
            }
            last
        });
        // One by one, because each may attach another one.
        let next = || attached.borrow_mut().next_completion();
        let completed = handled.and_then(|last| {
            let Some(completion) = next() else {
                return Ok(());
            };
            let carried = match last {
                Some(last) => carried.after(&self.ctx.persistence_id, last),
                None => carried,
            };
            let mut completions = iter::once(completion).chain(iter::from_fn(next));
            completions.try_for_each(|completion| {
                let carried = carried.clone();
                self.caused_turn(&cause, carried, |actor, ctx| completion.stored(actor, ctx))
            })
        });
        if completed.is_err() {
            fail(&attached, &cause, unanswered);
        } else {
            attached.borrow_mut().end(Ok(()));
        }
        completed
    }

    fn handle_rejected(
        &mut self,
        settled: Settled<A>,
        cause: RejectionCause,
    ) -> Result<(), Failure> {
        log::write_rejected(&self.place_of(self.ctx.last_sequence_nr + 1), &cause);
        let carried = settled.beside.carried();
        let deletes = Self::deletes(&settled.events);
        let told = match deletes {
            Some(hooks) => self.caused_turn(&settled.cause, carried, |actor, ctx| {
                (hooks.on_delete_rejected)(actor, &cause, ctx);
            }),
            None => settled.events.iter().try_for_each(|event| {
                self.caused_turn(&settled.cause, carried.clone(), |actor, ctx| {
                    actor.on_persist_rejected(&cause, event, ctx);
                })
            }),
        };
        let error = PersistError::Rejected(cause);
        fail(&settled.attached, &settled.cause, error);
        told
    }

    fn handle_failed(&mut self, settled: Settled<A>, error: PersistError, first: u64) -> Failure {
        let is_conflict = matches!(error, PersistError::Conflict(_));
        let environment = Arc::clone(&self.ctx.environment);
        let outage = match &error {
            PersistError::NotStored(source) | PersistError::Unknown(source) => {
                let health = environment.stores.health();
                health.accounts_for(source).then_some(health)
            }
            _ => None,
        };
        if is_conflict {
            let conflicts = &self.ctx.environment.conflicts;
            conflicts.note(&self.ctx.persistence_id, &error);
        } else {
            log::persisting_failed(&self.place_of(first), &error, outage.is_some());
        }
        let told = self.turn(&mut |actor, _| {
            if let Some(hooks) = Self::deletes(&settled.events) {
                (hooks.on_delete_failure)(actor, &error, first);
            } else if let Some(event) = settled.events.iter().next() {
                actor.on_persist_failure(&error, event, first);
            }
        });
        fail(&settled.attached, &settled.cause, error);
        told.err().unwrap_or_else(|| {
            if is_conflict {
                self.lost()
            } else {
                self.failure(false).of_outage(outage)
            }
        })
    }

    /// Returns the handler to call for the delete of a state; `None` if something else was persisted.
    fn deletes(events: &PersistedEvents<A::Event>) -> Option<&'static StateHooks<A>> {
        A::STORED_AS.hooks().filter(|_| events.is_delete())
    }
}
