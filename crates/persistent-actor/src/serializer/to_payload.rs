//! Values that can be encoded, by serde or by a serializer of their own.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

use actix_persistence_storage_api::Payload;
use bytes::Bytes;
use serde::Serialize;

use super::limited_writer::LimitedWriter;
use super::{
    EncodeError, FIRST_APPLICATION_SERIALIZER_ID, HARD_PAYLOAD_LIMIT, Manifest, Serializer,
    Serializers,
};

/// A value that can be encoded to be stored; every type with serde's `Serialize` is one, and is written in the format that
/// the config or the type names.
///
/// A type without `Serialize` implements it with a serializer of its own, such as protobuf, together with
/// [`FromPayload`](crate::FromPayload). This is Akka's `SerializerWithStringManifest`: each value chooses its manifest.
///
/// ```
/// use actix_persistence_persistent_actor::{
///     DecodeError, EncodeError, EncodedPayload, Encoder, Event, FromPayload, Stored,
///     ToPayload,
/// };
///
/// /// The id of the serializer below, in every store of the application.
/// const BIG_ENDIAN: u32 = 1_000;
///
/// enum AccountEvent {
///     Deposited(u64),
///     Withdrawn(u64),
/// }
///
/// impl Event for AccountEvent {
///     const MANIFEST: &'static str = "bank.account";
///     const VERSION: u32 = 1;
/// }
///
/// impl ToPayload for AccountEvent {
///     fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError> {
///         let (manifest, cents) = match self {
///             AccountEvent::Deposited(cents) => ("bank.deposited", cents),
///             AccountEvent::Withdrawn(cents) => ("bank.withdrawn", cents),
///         };
///         let encoder = encoder.with_manifest(manifest);
///         encoder.bytes::<BIG_ENDIAN>(&cents.to_be_bytes())
///     }
/// }
///
/// impl FromPayload for AccountEvent {
///     const MANIFESTS: &'static [&'static str] = &["bank.deposited", "bank.withdrawn"];
///
///     fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError> {
///         let bytes = stored.bytes_of::<BIG_ENDIAN>()?;
///         let cents = bytes.try_into().map_err(|error| stored.failed(error))?;
///         let cents = u64::from_be_bytes(cents);
///         match stored.manifest() {
///             "bank.deposited" => Ok(AccountEvent::Deposited(cents)),
///             "bank.withdrawn" => Ok(AccountEvent::Withdrawn(cents)),
///             _ => Err(stored.unknown_manifest()),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be encoded to be stored",
    label = "derive `Serialize` and `Deserialize`, or implement `ToPayload` and `FromPayload`",
    note = "a type of serde is stored in the format that the config names; one with a serializer of its own, such as protobuf, implements `ToPayload` and `FromPayload`"
)]
pub trait ToPayload {
    /// Encodes the value with what `encoder` has: [`serialize`](Encoder::serialize), [`bytes`](Encoder::bytes) or
    /// [`write`](Encoder::write).
    ///
    /// # Errors
    /// Those of `encoder`: the value is rejected.
    fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError>;
}

impl<T: Serialize + ?Sized> ToPayload for T {
    fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError> {
        encoder.serialize(self)
    }
}

/// An encoded value; made by an [`Encoder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedPayload(Payload);

impl EncodedPayload {
    pub(crate) fn into_payload(self) -> Payload {
        self.0
    }
}

/// Encodes one value within the limit of its store, for [`ToPayload::to_payload`].
#[must_use = "it has encoded nothing yet"]
pub struct Encoder<'a> {
    serializers: &'a Serializers,
    serializer: Serializer,
    manifest: &'a Manifest,
    chosen: Result<&'a Arc<str>, String>,
    limit: usize,
}

impl<'a> Encoder<'a> {
    /// Makes an encoder of a value with this manifest, unless it chooses another one, in this format, unless it has its
    /// own.
    pub(crate) fn new(
        serializers: &'a Serializers,
        serializer: Serializer,
        manifest: &'a Manifest,
        limit: usize,
    ) -> Self {
        Self {
            serializers,
            serializer,
            manifest,
            chosen: Ok(manifest.text()),
            limit: limit.min(HARD_PAYLOAD_LIMIT),
        }
    }

    /// Returns the same with another manifest than the `MANIFEST` of the type: one of its
    /// [`MANIFESTS`](crate::FromPayload::MANIFESTS), otherwise the value is rejected. The library appends `:v` and the
    /// `VERSION` of the type.
    pub fn with_manifest(mut self, manifest: &str) -> Self {
        let text = self.manifest.text_of(manifest);
        self.chosen = text.ok_or_else(|| manifest.to_owned());
        self
    }

    /// Encodes a value of serde in the format that the type or the config names.
    ///
    /// # Errors
    /// [`EncodeError`] if there is no such format, if it has no form for the value, or if that has too many bytes.
    pub fn serialize<T: Serialize + ?Sized>(
        self,
        value: &T,
    ) -> Result<EncodedPayload, EncodeError> {
        let text = self.text()?;
        let mut writer = LimitedWriter::new(self.limit);
        let id = self.serializer.id();
        match self.serializers.encode(self.serializer, value, &mut writer) {
            Some(written) => self.written(id, text, writer, written),
            None => Err(EncodeError::UnknownSerializer {
                id,
                manifest: text.to_string(),
                known: self.serializers.list(),
            }),
        }
    }

    /// Takes the bytes of a serializer of the type's own, whose id is `ID`.
    ///
    /// An id below [`FIRST_APPLICATION_SERIALIZER_ID`] does not compile.
    ///
    /// # Errors
    /// [`EncodeError`] if there are too many bytes, or a registered format has this id.
    pub fn bytes<const ID: u32>(self, bytes: &[u8]) -> Result<EncodedPayload, EncodeError> {
        self.write::<ID>(|out| Ok(out.write_all(bytes)?))
    }

    /// Lets a serializer of the type's own, whose id is `ID`, write the bytes; `out` fails as soon as there are too many.
    ///
    /// An id below [`FIRST_APPLICATION_SERIALIZER_ID`] does not compile.
    ///
    /// # Errors
    /// [`EncodeError`] with its error as the source if `write` fails, which must not quote the value; and if there are too many bytes, or if a registered format has this id.
    pub fn write<const ID: u32>(
        self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Box<dyn Error + Send + Sync>>,
    ) -> Result<EncodedPayload, EncodeError> {
        const { check_id(ID) };
        let text = self.text()?;
        if let Some((_, name)) = self.serializers.known().find(|(id, _)| *id == ID) {
            return Err(EncodeError::SerializerTaken {
                id: ID,
                name: name.to_owned(),
                manifest: text.to_string(),
            });
        }
        let mut writer = LimitedWriter::new(self.limit);
        let written = write(&mut writer);
        self.written(ID, text, writer, written)
    }

    fn text(&self) -> Result<&'a Arc<str>, EncodeError> {
        self.chosen
            .clone()
            .map_err(|manifest| EncodeError::UnknownManifest {
                manifest,
                expected: self.manifest.expected(),
            })
    }

    fn written(
        &self,
        id: u32,
        text: &Arc<str>,
        writer: LimitedWriter,
        written: Result<(), Box<dyn Error + Send + Sync>>,
    ) -> Result<EncodedPayload, EncodeError> {
        match written {
            _ if writer.overflowed() => Err(EncodeError::TooLarge {
                manifest: text.to_string(),
                limit: self.limit,
            }),
            Ok(()) => Ok(EncodedPayload(Payload::new(
                id,
                Arc::clone(text),
                Bytes::from(writer.into_bytes()),
            ))),
            Err(source) => Err(EncodeError::Serializer {
                serializer: self.serializers.name_of(id),
                manifest: text.to_string(),
                source,
            }),
        }
    }
}

/// Refuses, while the program is compiled, the id of a serializer of the application that is the library's.
///
/// # Panics
/// If the id is below [`FIRST_APPLICATION_SERIALIZER_ID`].
pub(super) const fn check_id(id: u32) {
    assert!(
        id >= FIRST_APPLICATION_SERIALIZER_ID,
        "serializers of an application have ids from 1000 up"
    );
}

impl fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("serializer", &self.serializer)
            .field("manifest", &self.chosen)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
