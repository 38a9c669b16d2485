//! Encoded values on their way to a store.

use actix_persistence_storage_api::Payload;

#[cfg(feature = "encryption")]
use super::encryption::Seal;
use super::{Compression, EncodeError, EncodedPayload, Place};
#[cfg(feature = "encryption")]
use super::{HARD_PAYLOAD_LIMIT, Serializers};

/// An encoded value, compressed if that was asked for, that is encrypted as soon as it has a number.
pub(crate) struct Outgoing {
    payload: Payload,
    #[cfg(feature = "encryption")]
    seal: Option<Seal>,
}

impl Outgoing {
    /// Compresses what is encoded if that is asked for.
    pub(crate) fn new(
        encoded: EncodedPayload,
        compression: Compression,
    ) -> Result<Self, EncodeError> {
        Ok(Self {
            payload: compression.apply(encoded.into_payload())?,
            #[cfg(feature = "encryption")]
            seal: None,
        })
    }

    /// Returns the same, to be encrypted with the key of this subject if there is one; what is stored has to keep to the
    /// limit too.
    #[cfg(feature = "encryption")]
    pub(crate) fn encrypted_for(
        mut self,
        data_subject: Option<&str>,
        serializers: &Serializers,
        limit: usize,
    ) -> Result<Self, EncodeError> {
        let Some(data_subject) = data_subject else {
            return Ok(self);
        };
        let (manifest, limit) = (&self.payload.manifest, limit.min(HARD_PAYLOAD_LIMIT));
        self.seal = Some(serializers.seal(data_subject, manifest)?);
        if self.len() > limit {
            let manifest = self.payload.manifest.to_string();
            return Err(EncodeError::TooLarge { manifest, limit });
        }
        Ok(self)
    }

    /// Returns the number of bytes that are stored.
    pub(crate) fn len(&self) -> usize {
        let len = self.payload.len();
        #[cfg(feature = "encryption")]
        let len = self.seal.as_ref().map_or(len, |seal| seal.sealed_len(len));
        len
    }

    /// Returns what is stored at this place.
    pub(crate) fn at(&self, place: Place<'_>) -> Payload {
        #[cfg(feature = "encryption")]
        if let Some(seal) = &self.seal {
            return seal.seal(&self.payload, place);
        }
        let _ = place;
        self.payload.clone()
    }
}

impl Compression {
    fn apply(self, payload: Payload) -> Result<Payload, EncodeError> {
        match self {
            #[cfg(feature = "zstd")]
            Compression::Zstd { min_bytes } if payload.len() >= min_bytes => {
                super::zstd::compress(payload)
            }
            _ => Ok(payload),
        }
    }
}
