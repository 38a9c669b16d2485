//! The way in which an actor is stored: by its events, or by its current state.

use std::fmt;

use actix_persistence_storage_api::{Payload, Revision};

use crate::{DecodeError, PersistError, PersistentActor, PersistentContext, RejectionCause};

/// The way in which an actor is stored; part of [`PersistentActor`] and made by this crate only.
pub struct StoredAs<A: PersistentActor>(Option<&'static StateHooks<A>>);

/// The functions that the run loop needs for an actor whose state is stored, beyond those of every persistent actor.
pub(crate) struct StateHooks<A: PersistentActor> {
    pub(crate) plugin_id: fn(&A) -> Option<String>,
    pub(crate) tags: fn(&A::Event) -> Vec<String>,
    pub(crate) read: ReadState<A::Event>,
    /// Reports to the actor that there is no state, because it was deleted or never stored.
    pub(crate) on_none: fn(&mut A),
    pub(crate) on_delete_failure: fn(&mut A, &PersistError, Revision),
    pub(crate) on_delete_rejected: fn(&mut A, &RejectionCause, &mut PersistentContext<A>),
}

/// Makes a state of what is stored.
pub(crate) type ReadState<S> = fn(&Payload) -> Result<S, DecodeError>;

impl<A: PersistentActor> StoredAs<A> {
    pub(crate) const EVENTS: Self = Self(None);

    pub(crate) const fn state(hooks: &'static StateHooks<A>) -> Self {
        Self(Some(hooks))
    }

    pub(crate) const fn is_events(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the functions for an actor whose state is stored; `None` for one that is stored by its events.
    pub(crate) const fn hooks(&self) -> Option<&'static StateHooks<A>> {
        self.0
    }

    /// Passes the stored state to the actor, or lets an actor whose state is stored know that there is none.
    pub(crate) fn give(&self, actor: &mut A, state: Option<&A::Event>) {
        match (state, self.hooks()) {
            (Some(state), _) => actor.on_event(state),
            (None, Some(hooks)) => (hooks.on_none)(actor),
            (None, None) => {}
        }
    }
}

impl<A: PersistentActor> fmt::Debug for StoredAs<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_events() { "events" } else { "state" })
    }
}
