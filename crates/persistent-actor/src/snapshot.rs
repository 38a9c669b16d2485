//! Whole states, stored to shorten recovery.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use actix_persistence_storage_api::SnapshotMetadata;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Serializer;

/// A whole state of a persistent actor.
///
/// Manifest and version mean the same as for an [`Event`](crate::Event).
pub trait Snapshot: Serialize + DeserializeOwned + 'static {
    /// The stable name of this type in every store; not a Rust type name.
    const MANIFEST: &'static str;
    /// The version of the encoded form, from 1.
    const VERSION: u32;
    /// How to encode; `None` leaves it to the snapshot store's setting `serializer`.
    const SERIALIZER: Option<Serializer> = None;
    /// Whether the type says that its actor has no snapshots; only [`NoSnapshot`] does.
    const NEVER: bool = false;
}

/// The snapshot type of actors that have none: it has no values, so nothing can be saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoSnapshot {}

impl Snapshot for NoSnapshot {
    const MANIFEST: &'static str = "none";
    const VERSION: u32 = 1;
    const NEVER: bool = true;
}

/// A stored snapshot, offered to the actor at the start of its recovery.
pub struct SnapshotOffer<S> {
    /// Which snapshot it is.
    pub metadata: SnapshotMetadata,
    /// The state.
    pub snapshot: S,
    pub(crate) refused: Rc<Cell<bool>>,
}

impl<S> SnapshotOffer<S> {
    /// Refuses the snapshot: the recovery fails, because the events the snapshot stands for are not replayed.
    pub fn unhandled(self) {
        self.refused.set(true);
    }
}

impl<S> fmt::Debug for SnapshotOffer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotOffer")
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}
