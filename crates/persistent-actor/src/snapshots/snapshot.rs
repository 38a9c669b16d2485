//! Whole states, stored to shorten recovery.

#[cfg(feature = "encryption")]
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_persistence_storage_api::SnapshotMetadata;
use serde::{Deserialize, Serialize};

#[cfg(feature = "encryption")]
use crate::Shredded;
use crate::{Compression, FromPayload, Serializer, StateUpcasters, ToPayload};

/// A whole state of a persistent actor.
///
/// Manifest and version mean the same as for an [`Event`](crate::Event), and what is stored can be read again as there: a
/// state that decoding would refuse is not saved, which [`SaveSnapshotError`](crate::SaveSnapshotError) reports.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `Snapshot`",
    label = "cannot be saved as a snapshot",
    note = "derive `Serialize` and `Deserialize`, and `impl Snapshot` with a `MANIFEST` and a `VERSION`; an actor that saves none has `type Snapshot = NoSnapshot`"
)]
pub trait Snapshot: ToPayload + FromPayload + 'static {
    /// The stable name of this type in every store; not a Rust type name. As
    /// [`Event::MANIFEST`](crate::Event::MANIFEST) it has at most 243 bytes.
    const MANIFEST: &'static str;
    /// The version of the encoded form, from 1.
    const VERSION: u32;
    /// The format that encodes it, if it is a type of serde; `None` leaves it to the snapshot store's setting
    /// `serializer`.
    const SERIALIZER: Option<Serializer> = None;
    /// The compression of what is stored; `None` leaves it to the setting `compression` of the snapshot store.
    const COMPRESSION: Option<Compression> = None;
    /// True if the type says that its actor has no snapshots; only [`NoSnapshot`] does.
    const NEVER: bool = false;

    /// Returns the forms in which snapshots of this type were stored before, and how each becomes today's: necessary as
    /// soon as `VERSION` is above 1. The result is kept as long as the process lives.
    fn upcasters() -> StateUpcasters<Self> {
        StateUpcasters::new()
    }

    /// Returns the data subject, such as the number of a customer, whose personal data it holds: it is encrypted with the
    /// key that the [`KeyStore`](crate::KeyStore) has for the subject. `None` stores it in plain.
    ///
    /// Only the encoded value is encrypted: not the persistence id, the manifest, tags or metadata, nor what the
    /// application stores beside it.
    #[cfg(feature = "encryption")]
    fn data_subject(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns what takes the place of a stored one whose key was destroyed; `None`, as unless implemented otherwise,
    /// lets the recovery go on with an older snapshot, or with every event; it fails if some of those that are needed were
    /// deleted.
    #[cfg(feature = "encryption")]
    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        let _ = what;
        None
    }
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
    /// The metadata of the snapshot.
    pub metadata: SnapshotMetadata,
    /// The decoded snapshot.
    pub snapshot: S,
    answer: OfferAnswer,
}

/// The answer of the actor to an offer, for the code that made it; `Send`, so that a replay may run on any thread.
#[derive(Clone, Default)]
pub(crate) struct OfferAnswer(Arc<Mutex<OfferState>>);

#[derive(Default, PartialEq, Eq)]
pub(crate) enum OfferState {
    /// Unless the actor says otherwise.
    #[default]
    Taken,
    /// The actor has no code for snapshots.
    Unhandled,
    /// The actor cannot use this one, for this reason.
    Refused(String),
}

impl<S> SnapshotOffer<S> {
    pub(crate) fn new(metadata: SnapshotMetadata, snapshot: S) -> Self {
        Self {
            metadata,
            snapshot,
            answer: OfferAnswer::default(),
        }
    }

    /// Declares that the actor has no code for snapshots: the recovery fails, because the events the snapshot stands
    /// for are not replayed.
    pub fn unhandled(self) {
        self.answer.set(OfferState::Unhandled);
    }

    /// Refuses this snapshot, as if it could not be decoded; the reason is logged, so it should name no data.
    ///
    /// The recovery fails, or goes on with an older snapshot if snapshots are
    /// [optional](crate::Recovery::snapshot_is_optional). The actor must be as it was before the offer.
    pub fn refuse(self, reason: impl Into<String>) {
        self.answer.set(OfferState::Refused(reason.into()));
    }

    pub(crate) fn answer(&self) -> OfferAnswer {
        self.answer.clone()
    }
}

impl OfferAnswer {
    pub(crate) fn is_taken(&self) -> bool {
        *self.lock() == OfferState::Taken
    }

    pub(crate) fn take(&self) -> OfferState {
        std::mem::take(&mut *self.lock())
    }

    fn set(&self, state: OfferState) {
        *self.lock() = state;
    }

    fn lock(&self) -> MutexGuard<'_, OfferState> {
        // Each change is a single step, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> fmt::Debug for SnapshotOffer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotOffer")
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}
