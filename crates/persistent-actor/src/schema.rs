//! The forms in which values of a type are stored, and read again.

mod cache;
mod chain;
mod decode_state;
mod decoded_event;
mod forms;
mod invalid_upcasters;
mod read;
mod upcasters;
mod versions;

use std::any::TypeId;
use std::sync::Arc;

pub use chain::{Chain, NoVersion};
pub use decode_state::decode_state;
pub use decoded_event::{DecodedEvent, DecodedEvents};
pub use invalid_upcasters::InvalidUpcasters;
use read::Read;
pub use upcasters::{StateUpcasters, ToMany, ToOne, Upcasters};
pub use versions::Versions;

#[cfg(feature = "encryption")]
use crate::Shredded;
use crate::error::panics::caught;
use crate::serializer::{
    EncodedPayload, Encoder, FromPayload, Manifest, Serializers, StoredAt, ToPayload,
    check_manifests, shown,
};
use crate::{DecodeError, EncodeError, Event, Serializer, Snapshot};
#[cfg(feature = "shape-lock")]
pub(crate) use forms::Knows;
use forms::{Form, Forms};
use upcasters::Writing;

/// The stored forms of a type: the one that is written, and all that are read.
///
/// Made once for each type and role, and shared by all that store and read it.
pub(crate) struct Schema<T> {
    manifest: Manifest,
    forms: Forms<T>,
    writing: Option<(Manifest, Writing<T>)>,
    /// Returns what takes the place of a value whose key was destroyed.
    #[cfg(feature = "encryption")]
    shredded: fn(&Shredded<'_>) -> Option<T>,
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
    const { check_manifests::<E>(E::MANIFEST, E::VERSION) };
    cache::get((Role::Event, TypeId::of::<E>()), || {
        let schema = Schema::new(E::MANIFEST, E::VERSION, E::upcasters())?;
        #[cfg(feature = "encryption")]
        let schema = schema.with_shredded(E::shredded);
        Ok(schema)
    })
}

/// Returns the schema of a type of snapshots.
///
/// # Errors
/// As [`of_event`].
pub(crate) fn of_snapshot<S: Snapshot>() -> Result<Arc<Schema<S>>, InvalidUpcasters> {
    const { check_manifests::<S>(S::MANIFEST, S::VERSION) };
    cache::get((Role::Snapshot, TypeId::of::<S>()), || {
        let schema = Schema::new(S::MANIFEST, S::VERSION, S::upcasters())?;
        #[cfg(feature = "encryption")]
        let schema = schema.with_shredded(S::shredded);
        Ok(schema)
    })
}

/// Makes a snapshot of what is stored.
pub(crate) fn read_snapshot<S: Snapshot>(stored: StoredAt<'_>) -> Result<S, DecodeError> {
    of_snapshot::<S>()?.read_one(stored)
}

impl<T: ToPayload + FromPayload> Schema<T> {
    fn new<K>(
        name: &'static str,
        version: u32,
        upcasters: Upcasters<T, K>,
    ) -> Result<Self, InvalidUpcasters> {
        let others = T::MANIFESTS;
        let (forms, writing) = Forms::check(name, others, version, upcasters)?;
        Ok(Self {
            manifest: Manifest::new(name, others, version),
            forms,
            writing: writing.map(|writing| (Manifest::new(name, others, writing.version), writing)),
            #[cfg(feature = "encryption")]
            shredded: |_| None,
        })
    }

    #[cfg(feature = "encryption")]
    fn with_shredded(mut self, shredded: fn(&Shredded<'_>) -> Option<T>) -> Self {
        self.shredded = shredded;
        self
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
        serializers: &Serializers,
        serializer: Serializer,
        limit: usize,
    ) -> Result<EncodedPayload, EncodeError> {
        match &self.writing {
            None => {
                let encoder = Encoder::new(serializers, serializer, &self.manifest, limit);
                value.to_payload(encoder)
            }
            Some((manifest, writing)) => {
                let encoder = Encoder::new(serializers, serializer, manifest, limit);
                (writing.encode)(value, manifest, encoder)
            }
        }
    }

    /// Encodes a value in today's form, even if an older one is written.
    #[cfg(feature = "shape-lock")]
    pub(crate) fn encode_own(
        &self,
        value: &T,
        serializers: &Serializers,
        serializer: Serializer,
        limit: usize,
    ) -> Result<EncodedPayload, EncodeError> {
        value.to_payload(Encoder::new(serializers, serializer, &self.manifest, limit))
    }

    /// Returns what the type knows of a manifest.
    #[cfg(feature = "shape-lock")]
    pub(crate) fn knows(&self, manifest: &str) -> Knows {
        self.forms.knows(manifest)
    }

    /// Decodes what a store returned: the stored serializer, name and version decide, never the present settings.
    ///
    /// Every size up to [`HARD_PAYLOAD_LIMIT`](crate::HARD_PAYLOAD_LIMIT) is decoded, whatever the limits of today are.
    pub(crate) fn read(&self, stored: StoredAt<'_>) -> Result<Read<T>, DecodeError> {
        // Nearly all have the manifest of today.
        let (name, version, step) = match self.manifest.parts_of(&stored.payload.manifest) {
            Some((name, version)) => (name, version, None),
            None => match self.forms.find(&stored.payload.manifest)? {
                (name, version, Form::Own) => (name, version, None),
                (name, version, Form::Step(step)) => (name, version, Some(step)),
                (_, _, Form::Nothing) => return Ok(Read::Many(Vec::new())),
            },
        };
        let unwrapped = match stored.unwrap(name, version) {
            Ok(unwrapped) => unwrapped,
            #[cfg(feature = "encryption")]
            Err(error @ DecodeError::Shredded { .. }) => {
                let (persistence_id, number) = (stored.place.persistence_id, stored.place.number);
                let what = Shredded {
                    persistence_id,
                    number,
                    manifest: name,
                    version,
                };
                return (self.shredded)(&what).map(Read::One).ok_or(error);
            }
            Err(error) => return Err(error),
        };
        match step {
            None => unwrapped.decode().map(Read::One),
            Some(step) => caught(|| step(&unwrapped)).unwrap_or_else(|message| {
                Err(DecodeError::StepPanicked {
                    manifest: shown(&stored.payload.manifest),
                    message: message.into(),
                })
            }),
        }
    }

    /// Decodes what is exactly one value: a state or a snapshot.
    pub(crate) fn read_one(&self, stored: StoredAt<'_>) -> Result<T, DecodeError> {
        match self.read(stored)? {
            Read::One(value) => Ok(value),
            Read::Many(_) => unreachable!("only events are split or retired"),
        }
    }
}

#[cfg(test)]
mod tests;
