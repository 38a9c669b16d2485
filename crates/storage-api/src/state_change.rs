//! What a store is about to make of a state.

use std::sync::Arc;

use crate::{Payload, PersistenceId, Revision};

/// A change of one state, as [columns](crate::AdditionalColumn) and [handlers](crate::ChangeHandler) see it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StateChange<'a> {
    /// Whose state.
    pub persistence_id: &'a PersistenceId,
    /// The revision it gets; that which it had, if every trace of it is removed.
    pub revision: Revision,
    /// What becomes of it.
    pub kind: ChangeKind<'a>,
}

/// What becomes of a state.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ChangeKind<'a> {
    /// It is stored, for the first time or in the place of another.
    Updated {
        /// The encoded state.
        payload: &'a Payload,
        /// Its tags.
        tags: &'a [Arc<str>],
    },
    /// A tombstone takes its place.
    Deleted,
    /// Every trace of it is removed; there was one.
    Removed,
}

impl<'a> StateChange<'a> {
    /// A change of this id to this revision.
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

    /// The encoded state; none if it is gone afterwards.
    pub fn payload(&self) -> Option<&'a Payload> {
        match self.kind {
            ChangeKind::Updated { payload, .. } => Some(payload),
            ChangeKind::Deleted | ChangeKind::Removed => None,
        }
    }
}
