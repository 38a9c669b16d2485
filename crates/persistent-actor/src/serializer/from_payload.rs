//! Values that can be decoded, by serde or by a serializer of their own.

use serde::de::DeserializeOwned;

use super::{DecodeError, Stored};

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
    fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError>;
}

impl<T: DeserializeOwned> FromPayload for T {
    fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError> {
        stored.decode_format()
    }
}
