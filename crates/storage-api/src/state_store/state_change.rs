//! The change of a state that a store is about to make.

use std::sync::Arc;

use crate::{Payload, PersistenceId, Revision};

/// A change of one state, as [columns](crate::AdditionalColumn) and [handlers](crate::ChangeHandler) see it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StateChange<'a> {
    /// The persistence id of the state.
    pub persistence_id: &'a PersistenceId,
    /// The revision it gets; that which it had, if every trace of it is removed.
    pub revision: Revision,
    /// The kind of the change.
    pub kind: ChangeKind<'a>,
}

/// The kind of the change of a state.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ChangeKind<'a> {
    /// The state is stored, for the first time or in the place of another.
    Updated {
        /// The encoded state.
        payload: &'a Payload,
        /// The tags of the state.
        tags: &'a [Arc<str>],
    },
    /// A tombstone takes its place.
    Deleted,
    /// The state is removed with every trace of it; there was one.
    Removed,
}

impl<'a> StateChange<'a> {
    /// Makes a change of this id to this revision.
    pub fn new(
        persistence_id: &'a PersistenceId,
        revision: Revision,
        kind: ChangeKind<'a>,
    ) -> Self {
        Self {
            persistence_id,
            revision,
            kind,
        }
    }

    /// Returns the encoded state; none if it is gone afterwards.
    pub fn payload(&self) -> Option<&'a Payload> {
        match self.kind {
            ChangeKind::Updated { payload, .. } => Some(payload),
            ChangeKind::Deleted | ChangeKind::Removed => None,
        }
    }
}
