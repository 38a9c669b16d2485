//! Formats that the application adds, for types of serde.

use std::error::Error;
use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::guarded::{Part, Rules};
use super::limited_writer::LimitedWriter;

/// The smallest id of a serializer of the application; those below are the library's.
pub const FIRST_APPLICATION_SERIALIZER_ID: u32 = 1_000;

/// A function that reads a value with the deserializer of a format; called once.
pub type ReadValue<'a> =
    dyn FnMut(&mut dyn erased_serde::Deserializer<'_>) -> Result<(), erased_serde::Error> + 'a;

/// A format for every type of serde, such as CBOR, that the application adds to MessagePack and JSON.
///
/// Register it at the builder of the facade; then a config may name it as `serializer`, and a type as its
/// `SERIALIZER`. What stands in a store is its [`id`](Self::id): it must mean the same bytes for ever, and a program that
/// reads what another one stored registers the same formats.
///
/// Called on the thread of an actor, so it must not block.
///
/// ```
/// use std::error::Error;
/// use std::io::Write;
///
/// use actix_persistence_persistent_actor::{ReadValue, SerdeFormat, erased_serde};
///
/// /// JSON with line breaks, for people.
/// struct PrettyJson;
///
/// impl SerdeFormat for PrettyJson {
///     fn id(&self) -> u32 {
///         1_000
///     }
///
///     fn name(&self) -> &str {
///         "pretty-json"
///     }
///
///     fn encode(
///         &self,
///         value: &dyn erased_serde::Serialize,
///         out: &mut dyn Write,
///     ) -> Result<(), Box<dyn Error + Send + Sync>> {
///         Ok(serde_json::to_writer_pretty(out, value)?)
///     }
///
///     fn decode(
///         &self,
///         bytes: &[u8],
///         read: &mut ReadValue<'_>,
///     ) -> Result<(), Box<dyn Error + Send + Sync>> {
///         let mut json = serde_json::Deserializer::from_slice(bytes);
///         read(&mut <dyn erased_serde::Deserializer>::erase(&mut json))?;
///         Ok(json.end()?)
///     }
/// }
/// ```
pub trait SerdeFormat: Send + Sync + 'static {
    /// Returns the id that is stored with each payload, at least [`FIRST_APPLICATION_SERIALIZER_ID`]; always the same.
    fn id(&self) -> u32;

    /// Returns the name by which a config chooses it; always the same.
    fn name(&self) -> &str;

    /// Writes the encoded value to `out`, which fails as soon as there are too many bytes: then the value is rejected as
    /// too large, whatever this returns.
    ///
    /// A value with more than 127 lists, maps and structs within each other fails by itself while it is written.
    ///
    /// # Errors
    /// If the format has no form for the value, or none that it could read again: the value is rejected. The text of the
    /// error is not passed on, as it may quote the value.
    fn encode(
        &self,
        value: &dyn erased_serde::Serialize,
        out: &mut dyn io::Write,
    ) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Calls `read` with a deserializer of the bytes, and checks that nothing follows the value.
    ///
    /// The bytes may be damaged, or made to do harm: this neither panics, nor recurses without a limit, nor allocates what
    /// the bytes only claim to hold.
    ///
    /// # Errors
    /// If the bytes are not one value of the format, or `read` fails. The text of the error is not passed on, as it may
    /// quote the value; of a `serde_json::Error` its kind and its line and column are.
    fn decode(
        &self,
        bytes: &[u8],
        read: &mut ReadValue<'_>,
    ) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// The reason why bytes are refused of which a format made nothing, without an error.
pub(super) const NOTHING_READ: &str = "the format has read no value";

/// The rules of every registered format.
const RULES: Rules = Rules {
    levels: 127,
    finite: false,
};

pub(super) fn encode<T: Serialize + ?Sized>(
    format: &dyn SerdeFormat,
    value: &T,
    writer: &mut LimitedWriter,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    format.encode(&Part(value, RULES), writer)
}

pub(super) fn decode<T: DeserializeOwned>(
    format: &dyn SerdeFormat,
    bytes: &[u8],
) -> Result<T, Box<dyn Error + Send + Sync>> {
    let mut value = None;
    format.decode(bytes, &mut |deserializer| {
        value = Some(erased_serde::deserialize(deserializer)?);
        Ok(())
    })?;
    value.ok_or_else(|| NOTHING_READ.into())
}
