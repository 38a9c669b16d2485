//! An actor with a state about several people, and an event of each change.

use std::marker::PhantomData;
use std::sync::Arc;

use actix::prelude::*;
use actix_persistence::error::RejectionCause;
use actix_persistence::prelude::*;
use actix_persistence_history::{Answer, Done, Incarnation, Operation, Uid, What};

use super::facts::{FIRST, Fact, Form, Keep, Kept};
use super::trouble;
use crate::workers::Scribe;
use crate::workers::odd_names::odd_name;

/// The entity type of these states.
pub(crate) const ENTITY: &str = "Held";

/// The id of a state.
pub(crate) fn held_id(number: u32) -> PersistenceId {
    PersistenceId::of(ENTITY, &odd_name(number))
}

/// Keeps a state, and reports each step.
pub(crate) struct Held<E> {
    number: u32,
    pub(crate) state: Option<Keep>,
    life: Option<Life>,
    form: PhantomData<fn() -> E>,
}

struct Life {
    id: String,
    scribe: Arc<Scribe>,
    incarnation: Incarnation,
    recovery: Option<u64>,
    change: Option<u64>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.scribe.say(What::Ended {
            id: self.id.clone(),
            incarnation: self.incarnation,
        });
    }
}

impl<E: Form> Held<E> {
    /// Returns an actor to be looked at, which writes nothing down.
    pub(crate) fn shown(number: u32) -> Self {
        Self {
            number,
            state: None,
            life: None,
            form: PhantomData,
        }
    }

    /// Returns an actor to be started, which loads its state now.
    pub(crate) fn alive(number: u32, scribe: &Arc<Scribe>) -> Self {
        let incarnation = scribe.incarnation();
        let id = held_id(number).to_string();
        let recovery = scribe.invoke(Operation::Load {
            id: id.clone(),
            incarnation: Some(incarnation),
        });
        Self {
            life: Some(Life {
                id,
                scribe: Arc::clone(scribe),
                incarnation,
                recovery: Some(recovery),
                change: None,
            }),
            ..Self::shown(number)
        }
    }

    /// The state, as a history has it; `None` if it is shredded, so that it is not known which it is.
    pub(crate) fn loaded(&self, revision: Revision) -> Option<Done> {
        let uid = match &self.state {
            None => None,
            Some(Keep(Some(Kept { uid, .. }))) => Some(Uid(*uid)),
            Some(Keep(None)) => return None,
        };
        Some(Done::Loaded { revision, uid })
    }

    fn change_has_ended(&mut self, answer: Answer) {
        if let Some(life) = &mut self.life
            && let Some(call) = life.change.take()
        {
            life.scribe.answer(call, answer);
        }
    }
}

impl<E: Form> Actor for Held<E> {
    type Context = PersistentContext<Self>;
}

impl<E: Form> DurableState for Held<E> {
    type State = Keep;

    fn persistence_id(&self) -> PersistenceId {
        held_id(self.number)
    }

    fn on_state(&mut self, state: Option<&Keep>) {
        self.state = state.cloned();
    }

    fn on_recovery_completed(&mut self, ctx: &mut PersistentContext<Self>) {
        let loaded = self.loaded(ctx.revision());
        if let Some(life) = &mut self.life
            && let Some(call) = life.recovery.take()
        {
            let answer = loaded.map_or(Answer::Unknown, Answer::Ok);
            life.scribe.answer(call, answer);
        }
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        trouble::of_recovery(error);
        if let Some(life) = &mut self.life
            && let Some(call) = life.recovery.take()
        {
            life.scribe.answer(call, Answer::Failed);
        }
    }

    fn on_persist_failure(&mut self, error: &PersistError, _: Option<&Keep>, _: Revision) {
        trouble::of_write(error);
        self.change_has_ended(match error.is_not_stored() {
            true => Answer::Failed,
            false => Answer::Unknown,
        });
    }

    fn on_persist_rejected(
        &mut self,
        cause: &RejectionCause,
        _: Option<&Keep>,
        _: &mut PersistentContext<Self>,
    ) {
        trouble::of_rejection(cause);
        self.change_has_ended(Answer::Rejected);
    }
}

/// Stores a state, or deletes it, with an event.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), PersistError>")]
pub(crate) struct Change {
    /// The command, the state and the event.
    pub(crate) uid: Uid,
    pub(crate) deletes: bool,
    pub(crate) subject: Option<String>,
}

impl<E: Form> Handler<Change> for Held<E> {
    type Result = Reply<Change>;

    fn handle(&mut self, change: Change, ctx: &mut Self::Context) -> Reply<Change> {
        let Change {
            uid,
            deletes,
            subject,
        } = change;
        let metadata = ctx.metadata();
        if metadata.correlation_id() != Some(&uid.0.to_string()) {
            crate::workers::fault(format!("change {uid} has the metadata {metadata:?}"));
        }
        let metadata = metadata.with_entry(FIRST, uid.0.to_string());
        ctx.set_metadata(metadata.expect("short texts"));
        let revision = Some(ctx.revision() + 1);
        if let Some(life) = &mut self.life {
            let (id, incarnation) = (life.id.clone(), life.incarnation);
            let scribe = &life.scribe;
            life.change = Some(scribe.invoke_change(id, incarnation, revision, uid, deletes));
        }
        let event = E::from(Fact::new(uid.0, 0, uid.0, subject.clone()));
        let answer = |held: &mut Self, ctx: &mut PersistentContext<Self>| {
            let revision = ctx.revision();
            held.change_has_ended(Answer::Ok(Done::Changed { revision }));
            Ok(())
        };
        match deletes {
            true => ctx.delete_with_event(&event).reply_with(answer),
            false => ctx
                .persist_with_event(Keep::new(uid.0, subject), &event)
                .reply_with(answer),
        }
    }
}
