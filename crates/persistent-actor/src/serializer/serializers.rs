//! The serializers that a program knows.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

#[cfg(feature = "encryption")]
use actix_persistence_storage_api::Payload;
use serde::Serialize;
use serde::de::DeserializeOwned;

#[cfg(feature = "encryption")]
use super::encryption::{self, Seal};
use super::limited_writer::LimitedWriter;
use super::serde_format::{self, FIRST_APPLICATION_SERIALIZER_ID, SerdeFormat};
use super::{DecodeError, Serializer, built_in, message_pack_scan, safe_reason};
#[cfg(feature = "encryption")]
use super::{EncodeError, KeyStore, Place};

/// The serializers that a program knows: the two of the library, and the formats that the application registered.
///
/// Cheap to clone. Whatever the settings say, the id that is stored with a payload decides which of them reads it.
#[derive(Clone, Default)]
pub struct Serializers {
    formats: Arc<[Arc<dyn SerdeFormat>]>,
    #[cfg(feature = "encryption")]
    key_store: Option<Arc<dyn KeyStore>>,
    #[cfg(feature = "shape-lock")]
    quotes_values: bool,
}

/// Two serializers, or a serializer and the library, want the same id or name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SerializerCollision {
    /// The id is below [`FIRST_APPLICATION_SERIALIZER_ID`]: those are the library's.
    #[error(
        "the serializer '{name}' has the id {id}, but those below {FIRST_APPLICATION_SERIALIZER_ID} are the library's"
    )]
    ReservedId {
        /// The id that was asked for.
        id: u32,
        /// The name of the serializer.
        name: String,
    },
    /// Two serializers have this id.
    #[error("the serializers '{first}' and '{second}' have the same id {id}")]
    Id {
        /// The id of both.
        id: u32,
        /// The name of the one that was registered first.
        first: String,
        /// The name of the other one.
        second: String,
    },
    /// Two serializers have this name.
    #[error("the serializers {first} and {second} have the same name '{name}'")]
    Name {
        /// The name of both.
        name: String,
        /// The id of the one that was registered first, or that is the library's.
        first: u32,
        /// The id of the other one.
        second: u32,
    },
}

/// The ids and names of the library's own.
const BUILT_IN: [(u32, &str); 2] = [(1, "messagepack"), (2, "json")];

/// The format of an id.
enum Format<'a> {
    MessagePack,
    Json,
    Registered(&'a dyn SerdeFormat),
}

impl Serializers {
    /// Adds a format.
    ///
    /// # Errors
    /// [`SerializerCollision`] if its id is below [`FIRST_APPLICATION_SERIALIZER_ID`], or if a format with this id or this
    /// name is there.
    pub fn with_format(
        mut self,
        format: Arc<dyn SerdeFormat>,
    ) -> Result<Self, SerializerCollision> {
        let (id, name) = (format.id(), format.name().to_owned());
        if id < FIRST_APPLICATION_SERIALIZER_ID {
            return Err(SerializerCollision::ReservedId { id, name });
        }
        for (known_id, known_name) in self.known() {
            if known_id == id {
                let first = known_name.to_owned();
                let second = name;
                return Err(SerializerCollision::Id { id, first, second });
            }
            if known_name == name {
                let (first, second) = (known_id, id);
                return Err(SerializerCollision::Name {
                    name,
                    first,
                    second,
                });
            }
        }
        let formats = self.formats.iter().cloned().chain([format]);
        self.formats = formats.collect();
        Ok(self)
    }

    /// Sets the key store, for values that have a data subject.
    #[cfg(feature = "encryption")]
    #[must_use]
    pub fn with_key_store(mut self, key_store: Arc<dyn KeyStore>) -> Self {
        self.key_store = Some(key_store);
        self
    }

    /// Keeps the texts of serde in errors of decoding, which quote the value: for invented data in tests.
    #[cfg(feature = "shape-lock")]
    pub(crate) fn quoting_values(mut self) -> Self {
        self.quotes_values = true;
        self
    }

    /// Gets what encrypts a value of this subject.
    #[cfg(feature = "encryption")]
    pub(super) fn seal(&self, data_subject: &str, manifest: &str) -> Result<Seal, EncodeError> {
        Seal::of(self.key_store.as_deref(), data_subject, manifest)
    }

    /// Decrypts a payload that is stored at this place.
    #[cfg(feature = "encryption")]
    pub(super) fn open(&self, payload: &Payload, place: Place<'_>) -> Result<Payload, DecodeError> {
        encryption::open(payload, self.key_store.as_deref(), place)
    }

    /// Returns the id and the name of each.
    pub fn known(&self) -> impl Iterator<Item = (u32, &str)> {
        let formats = self.formats.iter();
        let registered = formats.map(|format| (format.id(), format.name()));
        BUILT_IN.into_iter().chain(registered)
    }

    /// Returns the serializer of a name; `None` if there is none.
    pub fn by_name(&self, name: &str) -> Option<Serializer> {
        let found = self.known().find(|(_, known)| *known == name);
        found.map(|(id, _)| Serializer::of_id(id))
    }

    /// Returns the name of an id, or the number of one that has no name.
    pub(super) fn name_of(&self, id: u32) -> String {
        match self.known().find(|(known, _)| *known == id) {
            Some((_, name)) => name.to_owned(),
            None => format!("serializer {id}"),
        }
    }

    /// Returns the id that a type names although there is no such serializer.
    pub(crate) fn unknown_of(&self, serializer: Option<Serializer>) -> Option<u32> {
        let id = serializer?.id();
        let is_known = self.known().any(|(known, _)| known == id);
        (!is_known).then_some(id)
    }

    /// Returns the ids and the names of all for messages.
    pub(crate) fn list(&self) -> String {
        let known = self.known().map(|(id, name)| format!("{id} ({name})"));
        known.collect::<Vec<_>>().join(", ")
    }

    fn format(&self, id: u32) -> Option<Format<'_>> {
        match id {
            1 => Some(Format::MessagePack),
            2 => Some(Format::Json),
            id => {
                let found = self.formats.iter().find(|format| format.id() == id);
                found.map(|format| Format::Registered(&**format))
            }
        }
    }

    /// Encodes a value; `None` if there is no such serializer.
    pub(super) fn encode<T: Serialize + ?Sized>(
        &self,
        serializer: Serializer,
        value: &T,
        writer: &mut LimitedWriter,
    ) -> Option<Result<(), Box<dyn Error + Send + Sync>>> {
        let encoded = match self.format(serializer.id())? {
            Format::MessagePack => built_in::encode_message_pack(value, writer),
            Format::Json => built_in::encode_json(value, writer),
            Format::Registered(format) => serde_format::encode(format, value, writer),
        };
        Some(encoded.map_err(|source| safe_reason::of_encoding(&source).into()))
    }

    /// Decodes a value.
    pub(crate) fn decode<T: DeserializeOwned>(
        &self,
        id: u32,
        bytes: &[u8],
    ) -> Result<T, DecodeError> {
        let decoded = match self.format(id) {
            None => return Err(self.unknown(id)),
            Some(Format::MessagePack) => {
                // serde would recurse along the nesting of hostile bytes until the stack overflows, which aborts the
                // process.
                message_pack_scan::check(bytes).map_err(|reason| DecodeError::Malformed {
                    serializer: self.name_of(id),
                    reason,
                })?;
                built_in::decode_message_pack(bytes)
            }
            Some(Format::Json) => built_in::decode_json(bytes),
            Some(Format::Registered(format)) => serde_format::decode(format, bytes),
        };
        decoded.map_err(|source| self.failed(id, self.without_value(source)))
    }

    /// Takes out of an error of serde what it may quote.
    fn without_value(&self, source: Box<dyn Error + Send + Sync>) -> Box<dyn Error + Send + Sync> {
        #[cfg(feature = "shape-lock")]
        if self.quotes_values {
            return source;
        }
        safe_reason::of_decoding(&source).into()
    }

    pub(super) fn unknown(&self, id: u32) -> DecodeError {
        DecodeError::UnknownSerializer {
            id,
            known: self.list(),
        }
    }

    pub(super) fn failed(&self, id: u32, source: Box<dyn Error + Send + Sync>) -> DecodeError {
        DecodeError::Serializer {
            serializer: self.name_of(id),
            source,
        }
    }
}

/// Shows ids and names: code has no content to show.
impl fmt::Debug for Serializers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.known()).finish()
    }
}
