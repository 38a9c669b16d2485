//! Values as they came from their stores, not yet decoded.

use std::borrow::Cow;
use std::cell::Cell;
use std::error::Error;
use std::fmt;

use actix_persistence_storage_api::Payload;
use serde::de::DeserializeOwned;

use super::to_payload::check_id;
use super::wrapping::unwrap;
use super::{DecodeError, FromPayload, Place, Serializers, shown};

/// A payload at the place where it is stored, with the serializers that may decode it.
#[derive(Clone, Copy)]
pub(crate) struct StoredAt<'a> {
    pub(crate) payload: &'a Payload,
    pub(crate) place: Place<'a>,
    serializers: &'a Serializers,
    adapter_manifest: &'a str,
    /// Gets the size in bytes once it is known.
    size: Option<&'a Cell<usize>>,
}

impl Serializers {
    /// Returns what a store returned for this place, for a schema to read it.
    pub(crate) fn stored<'a>(&'a self, payload: &'a Payload, place: Place<'a>) -> StoredAt<'a> {
        StoredAt {
            payload,
            place,
            serializers: self,
            adapter_manifest: "",
            size: None,
        }
    }
}

impl<'a> StoredAt<'a> {
    /// Returns the same with what stands beside an event.
    pub(crate) fn with_adapter_manifest(mut self, adapter_manifest: &'a str) -> Self {
        self.adapter_manifest = adapter_manifest;
        self
    }

    /// Returns the same, which sets `size` to the bytes that the payload has once it is decrypted and decompressed.
    pub(crate) fn measured_by(mut self, size: &'a Cell<usize>) -> Self {
        self.size = Some(size);
        self
    }

    /// Decrypts and decompresses it; `name` and `version` are those of its manifest.
    pub(crate) fn unwrap(self, name: &'a str, version: u32) -> Result<Stored<'a>, DecodeError> {
        let payload = unwrap(self.payload, self.serializers, self.place)?;
        if let Some(size) = self.size {
            size.set(payload.len());
        }
        Ok(Stored {
            payload,
            name,
            version,
            adapter_manifest: self.adapter_manifest,
            serializers: self.serializers,
        })
    }
}

/// The stored form of an event, a state or a snapshot: its bytes, and the name and the version under which they were
/// written.
pub struct Stored<'a> {
    payload: Cow<'a, Payload>,
    name: &'a str,
    version: u32,
    adapter_manifest: &'a str,
    serializers: &'a Serializers,
}

impl Stored<'_> {
    /// Returns the manifest with which the value was stored, without its version; today's name, if the type had [another
    /// one](crate::Upcasters::renamed) then.
    pub fn manifest(&self) -> &str {
        self.name
    }

    /// Returns the version with which the value was stored, from 1.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the manifest of the type, with its version, in the program that wrote the event, if that stored an [older
    /// form](crate::Upcasters::writes) on purpose; empty otherwise, for states and snapshots, and for events of
    /// [changes](crate::PersistentContext::persist_with_event).
    pub fn adapter_manifest(&self) -> &str {
        self.adapter_manifest
    }

    /// Returns the id of the serializer that wrote the bytes.
    pub fn serializer_id(&self) -> u32 {
        self.payload.serializer_id
    }

    /// Returns the bytes that the serializer with the id `ID` wrote, one of the application's.
    ///
    /// An id below [`FIRST_APPLICATION_SERIALIZER_ID`](crate::FIRST_APPLICATION_SERIALIZER_ID) does not compile.
    ///
    /// # Errors
    /// [`DecodeError::UnknownSerializer`] if another one wrote them; [`decode`](Self::decode) reads what was written in a
    /// format of serde.
    pub fn bytes_of<const ID: u32>(&self) -> Result<&[u8], DecodeError> {
        const { check_id(ID) };
        if self.serializer_id() == ID {
            return Ok(&self.payload.bytes);
        }
        Err(DecodeError::UnknownSerializer {
            id: self.serializer_id(),
            known: format!("{ID} for this type"),
        })
    }

    /// Decodes the bytes as a value of this type, such as one that the present type once was.
    ///
    /// # Errors
    /// [`DecodeError`] if they are no value of this type.
    pub fn decode<T: FromPayload>(&self) -> Result<T, DecodeError> {
        T::from_payload(self)
    }

    /// Decodes the bytes in the format of serde that wrote them.
    pub(super) fn decode_format<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        let Payload {
            serializer_id,
            bytes,
            ..
        } = &*self.payload;
        self.serializers.decode(*serializer_id, bytes)
    }

    /// Says that nothing can be made of this; the reason is logged, so it should name no data.
    pub fn refuse(&self, reason: impl Into<String>) -> DecodeError {
        DecodeError::Refused(reason.into())
    }

    /// Returns the error for bytes that are no value of the type; the source is logged and sent to those who asked the
    /// actor, so it must not quote the value.
    pub fn failed(&self, source: impl Into<Box<dyn Error + Send + Sync>>) -> DecodeError {
        self.serializers.failed(self.serializer_id(), source.into())
    }

    /// Returns the error for a manifest that the type lists, and does not read.
    pub fn unknown_manifest(&self) -> DecodeError {
        self.refuse(format!("it does not read the manifest {:?}", self.name))
    }
}

/// Shows no bytes, so that no payload gets into a log by accident.
impl fmt::Debug for Stored<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored")
            .field("serializer_id", &self.serializer_id())
            .field("manifest", &shown(&self.payload.manifest))
            .finish_non_exhaustive()
    }
}
