//! Values that can be decoded, by serde or by a serializer of their own.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use actix_persistence_storage_api::Payload;
use serde::de::DeserializeOwned;

use super::to_payload::check_id;
use super::wrapping::unwrap;
use super::{DecodeError, Place, Serializers, shown};

/// A value that can be decoded from what is stored; every type with serde's `Deserialize` is one.
///
/// A type without it implements this together with [`ToPayload`](crate::ToPayload), which shows an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be decoded from what is stored",
    label = "derive `Serialize` and `Deserialize`, or implement `ToPayload` and `FromPayload`",
    note = "a type of serde is stored in the format that the config names; one with a serializer of its own, such as protobuf, implements `ToPayload` and `FromPayload`"
)]
pub trait FromPayload: Sized {
    /// The manifests that values choose with [`Encoder::with_manifest`](crate::Encoder::with_manifest), beside the
    /// `MANIFEST` of the type: what is stored under another one is not read. The same rules hold for each.
    const MANIFESTS: &'static [&'static str] = &[];

    /// Decodes a stored value, which has one of the manifests of the type and no higher version.
    ///
    /// The bytes may be damaged, or made to do harm: this neither panics, nor recurses without a limit, nor allocates what
    /// the bytes only claim to hold.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are no value of this type.
    fn from_payload(stored: &StoredPayload<'_>) -> Result<Self, DecodeError>;
}

impl<T: DeserializeOwned> FromPayload for T {
    fn from_payload(stored: &StoredPayload<'_>) -> Result<Self, DecodeError> {
        stored
            .serializers
            .decode(stored.payload.serializer_id, &stored.payload.bytes)
    }
}

/// An encoded value as it came from its store, for [`FromPayload::from_payload`].
pub struct StoredPayload<'a> {
    payload: Cow<'a, Payload>,
    name: &'a str,
    version: u32,
    serializers: &'a Serializers,
}

impl<'a> StoredPayload<'a> {
    /// Takes a payload that was stored under this name and version, and decrypts and decompresses it.
    pub(crate) fn new(
        payload: &'a Payload,
        (name, version): (&'a str, u32),
        serializers: &'a Serializers,
        place: Place<'_>,
    ) -> Result<Self, DecodeError> {
        Ok(Self {
            payload: unwrap(payload, serializers, place)?,
            name,
            version,
            serializers,
        })
    }

    /// Returns the manifest with which the value was stored, without its version.
    pub fn manifest(&self) -> &str {
        self.name
    }

    /// Returns the version with which the value was stored: from 1 to the `VERSION` of the type.
    pub fn version(&self) -> u32 {
        self.version
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

    /// Returns the error for bytes that are no value of the type.
    pub fn failed(&self, source: impl Into<Box<dyn Error + Send + Sync>>) -> DecodeError {
        self.serializers.failed(self.serializer_id(), source.into())
    }

    /// Returns the error for a manifest that the type lists, and does not read.
    pub fn unknown_manifest(&self) -> DecodeError {
        DecodeError::Refused(format!("it does not read the manifest {:?}", self.name))
    }
}

/// Shows no bytes, so that no payload gets into a log by accident.
impl fmt::Debug for StoredPayload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredPayload")
            .field("serializer_id", &self.serializer_id())
            .field("manifest", &shown(&self.payload.manifest))
            .finish_non_exhaustive()
    }
}
