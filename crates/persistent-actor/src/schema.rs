//! The forms in which values of a type are stored, and read again.

mod cache;
mod chain;
mod forms;
mod invalid_upcasters;
mod read;
mod stored;
mod upcasters;
mod versions;

use std::any::TypeId;
use std::sync::Arc;

use actix_persistence_storage_api::Payload;
use serde::Serialize;

pub use chain::{Chain, NoVersion};
pub use invalid_upcasters::InvalidUpcasters;
pub(crate) use read::Read;
pub use stored::{Stored, decode_state};
pub use upcasters::{StateUpcasters, ToMany, ToOne, Upcasters};
pub use versions::Versions;

use crate::error::panics::caught;
use crate::serializer::{Manifest, check_manifest, shown};
use crate::{DecodeError, EncodeError, Event, Serializer, Snapshot};
use forms::{Form, Forms};
use upcasters::Writing;

/// The stored forms of a type: the one that is written, and all that are read.
///
/// Made once for each type and role, and shared by all that store and read it.
pub(crate) struct Schema<T> {
    manifest: Manifest,
    forms: Forms<T>,
    /// Decodes today's form.
    own: fn(&Stored<'_>) -> Result<T, DecodeError>,
    writing: Option<(Manifest, Writing<T>)>,
}

/// The place of a type in a store: the same type may be an event of one actor and a snapshot of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    Event,
    Snapshot,
}

/// Returns the schema of a type of events, or of states.
///
/// # Errors
/// [`InvalidUpcasters`] if what the type declares about its older forms cannot be.
pub(crate) fn of_event<E: Event>() -> Result<Arc<Schema<E>>, InvalidUpcasters> {
    const { check_manifest(E::MANIFEST, E::VERSION) };
    cache::get((Role::Event, TypeId::of::<E>()), || {
        Schema::new(E::MANIFEST, E::VERSION, E::upcasters(), |stored| {
            stored.decode()
        })
    })
}

/// Returns the schema of a type of snapshots.
///
/// # Errors
/// As [`of_event`].
pub(crate) fn of_snapshot<S: Snapshot>() -> Result<Arc<Schema<S>>, InvalidUpcasters> {
    const { check_manifest(S::MANIFEST, S::VERSION) };
    cache::get((Role::Snapshot, TypeId::of::<S>()), || {
        Schema::new(S::MANIFEST, S::VERSION, S::upcasters(), |stored| {
            stored.decode()
        })
    })
}

/// Makes a snapshot of what is stored.
pub(crate) fn read_snapshot<S: Snapshot>(payload: &Payload) -> Result<S, DecodeError> {
    of_snapshot::<S>()?.read_one(payload)
}

impl<T> Schema<T> {
    fn new<K>(
        name: &'static str,
        version: u32,
        upcasters: Upcasters<T, K>,
        own: fn(&Stored<'_>) -> Result<T, DecodeError>,
    ) -> Result<Self, InvalidUpcasters> {
        let (forms, writing) = Forms::check(name, version, upcasters)?;
        Ok(Self {
            manifest: Manifest::new(name, version),
            forms,
            own,
            writing: writing.map(|writing| (Manifest::new(name, writing.version), writing)),
        })
    }

    /// Returns the manifest of today's form.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the manifest of the type for events that are stored in an older form on purpose; `None` if they are stored
    /// in today's.
    pub(crate) fn adapter_manifest(&self) -> Option<&Arc<str>> {
        self.writing.as_ref().map(|_| self.manifest.text())
    }

    /// Encodes a value in the form that is written: today's, or an older one until all processes read today's.
    pub(crate) fn encode(
        &self,
        value: &T,
        serializer: Serializer,
        limit: usize,
    ) -> Result<Payload, EncodeError>
    where
        T: Serialize,
    {
        match &self.writing {
            None => serializer.encode(value, &self.manifest, limit),
            Some((manifest, writing)) => (writing.encode)(value, serializer, manifest, limit),
        }
    }

    /// Encodes a value in today's form, even if an older one is written.
    #[cfg(feature = "shape-lock")]
    pub(crate) fn encode_own(
        &self,
        value: &T,
        serializer: Serializer,
        limit: usize,
    ) -> Result<Payload, EncodeError>
    where
        T: Serialize,
    {
        serializer.encode(value, &self.manifest, limit)
    }

    /// Returns whether the type has or had the name in a manifest.
    #[cfg(feature = "shape-lock")]
    pub(crate) fn has_name_of(&self, manifest: &str) -> bool {
        self.forms.has_name_of(manifest)
    }

    /// Decodes what a store returned: the stored serializer, name and version decide.
    pub(crate) fn read(
        &self,
        payload: &Payload,
        adapter_manifest: &str,
    ) -> Result<Read<T>, DecodeError> {
        if payload.manifest == *self.manifest.text() {
            let version = self.manifest.version();
            return (self.own)(&Stored::new(payload, version, adapter_manifest)).map(Read::One);
        }
        let (version, form) = self.forms.find(&payload.manifest)?;
        let stored = Stored::new(payload, version, adapter_manifest);
        match form {
            Form::Own => (self.own)(&stored).map(Read::One),
            Form::Nothing => Ok(Read::Many(Vec::new())),
            Form::Step(step) => caught(|| step(&stored)).unwrap_or_else(|message| {
                Err(DecodeError::StepPanicked {
                    manifest: shown(&payload.manifest),
                    message: message.into(),
                })
            }),
        }
    }

    /// Decodes what is exactly one value: a state or a snapshot.
    pub(crate) fn read_one(&self, payload: &Payload) -> Result<T, DecodeError> {
        match self.read(payload, "")? {
            Read::One(value) => Ok(value),
            Read::Many(_) => unreachable!("only events are split or retired"),
        }
    }
}

#[cfg(test)]
mod tests;
