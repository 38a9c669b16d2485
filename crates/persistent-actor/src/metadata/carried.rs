//! The metadata under which code runs: one scope in the other, each of one turn, one poll or one call.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use actix_persistence_storage_api::{PersistenceId, SequenceNr};

use crate::Metadata;

/// The metadata of a command, on its way through an actor: with what it persists, defers, spawns and puts aside.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    metadata: Metadata,
    /// True if the actor has set it for the command at hand, false if it came with that.
    is_own: bool,
    /// True if the actor has set the causation id, which no event replaces then.
    keeps_causation: bool,
}

thread_local! {
    static CURRENT: RefCell<Carried> = const { RefCell::new(Carried::NOTHING) };
    /// True if there is any: most programs have none, and every turn asks.
    static ANY: Cell<bool> = const { Cell::new(false) };
}

/// Ends the scope that was entered when it is dropped.
#[must_use = "the scope ends when this is dropped"]
pub(crate) struct Scope {
    outer: Carried,
    /// It belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl Carried {
    pub(crate) const NOTHING: Self = Self {
        metadata: Metadata::NOTHING,
        is_own: false,
        keeps_causation: false,
    };

    /// Returns that of the scope in which the caller runs.
    #[inline]
    pub(crate) fn current() -> Self {
        if !ANY.get() {
            return Self::NOTHING;
        }
        // A thread that ends has none.
        let current = CURRENT.try_with(|current| current.borrow().clone());
        current.unwrap_or(Self::NOTHING)
    }

    /// Returns that of the scope for a command that is sent: to its receiver it is what came with the command.
    pub(crate) fn sent() -> Self {
        Self {
            metadata: Self::current().metadata,
            ..Self::NOTHING
        }
    }

    /// Replaces that of the scope in which the caller runs.
    pub(crate) fn set(metadata: Metadata) {
        replace(Self::current().changed_to(metadata));
    }

    /// Returns what takes its place when the application sets this.
    pub(crate) fn changed_to(&self, metadata: Metadata) -> Self {
        let id = metadata.causation_id();
        let is_new = self.keeps_causation || id != self.metadata.causation_id();
        Self {
            keeps_causation: id.is_some() && is_new,
            is_own: true,
            metadata,
        }
    }

    /// Returns that of the handlers of an event that was stored.
    pub(crate) fn after(&self, id: &PersistenceId, sequence_nr: SequenceNr) -> Self {
        if self.metadata.is_nothing() || self.keeps_causation {
            return self.clone();
        }
        Self {
            metadata: self.metadata.caused_by(format!("{id}#{sequence_nr}")),
            ..*self
        }
    }

    /// Begins a scope with it.
    #[inline]
    pub(crate) fn enter(self) -> Scope {
        Scope {
            outer: replace(self),
            thread: PhantomData,
        }
    }

    /// Runs code in a scope with it, and keeps what the code has set for the next time.
    pub(crate) fn within<R>(&mut self, code: impl FnOnce() -> R) -> R {
        let scope = std::mem::replace(self, Self::NOTHING).enter();
        let result = code();
        *self = Self::current();
        drop(scope);
        result
    }

    pub(crate) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub(crate) fn into_metadata(self) -> Metadata {
        self.metadata
    }

    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.metadata.is_empty()
    }
}

/// Replaces that of the scope, and returns the one before; nothing by nothing costs a look.
#[inline]
fn replace(carried: Carried) -> Carried {
    if carried.metadata.is_nothing() && !ANY.get() {
        return carried;
    }
    exchange(carried)
}

#[cold]
fn exchange(carried: Carried) -> Carried {
    ANY.set(!carried.metadata.is_nothing());
    let outer = CURRENT.try_with(|current| current.replace(carried));
    outer.unwrap_or(Carried::NOTHING)
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        replace(std::mem::replace(&mut self.outer, Carried::NOTHING));
    }
}
