//! Encrypts payloads with the key of their data subject, and decrypts them.
//!
//! XChaCha20-Poly1305. The nonce is 16 random bytes, drawn when the value is persisted, and the number under which it is
//! stored: a value that gets another number is encrypted under another nonce, so no nonce is used twice.

use actix_persistence_storage_api::Payload;
use chacha20poly1305::aead::{Aead, Payload as Message};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

use super::envelope::{self, Opening};
use super::key_store::{EncryptionKey, FoundKey, KeyId, KeyStore};
use super::{DecodeError, EncodeError, Place};

/// The id of an encrypted payload in every store.
pub(super) const ID: u32 = 4;
const NAME: &str = "encryption";

type Random = [u8; 16];
/// The bytes that encryption adds to what it encrypts.
const TAG: usize = 16;

/// The key of one value, and what else it takes to encrypt it as soon as it has a number.
pub(super) struct Seal {
    key: EncryptionKey,
    key_id: KeyId,
    random: Random,
}

impl Seal {
    /// Gets the key of a subject.
    pub(super) fn of(
        key_store: Option<&dyn KeyStore>,
        data_subject: &str,
        manifest: &str,
    ) -> Result<Self, EncodeError> {
        let failed = |source| EncodeError::KeyStore {
            manifest: manifest.to_owned(),
            source,
        };
        let key_store = key_store.ok_or_else(|| EncodeError::NoKeyStore {
            manifest: manifest.to_owned(),
        })?;
        let current = key_store.current_key(data_subject).map_err(failed)?;
        let mut random = Random::default();
        getrandom::fill(&mut random).map_err(|error| failed(error.into()))?;
        Ok(Self {
            key: current.key,
            key_id: current.id,
            random,
        })
    }

    /// Returns the number of bytes of a payload of `len` bytes once it is encrypted.
    pub(super) fn sealed_len(&self, len: usize) -> usize {
        envelope::len(self.fields(0).len(), len + TAG)
    }

    /// Encrypts a payload for this place.
    pub(super) fn seal(&self, payload: &Payload, place: Place<'_>) -> Payload {
        let fields = self.fields(payload.serializer_id);
        let place_bytes = place.bytes(&payload.manifest);
        let message = Message {
            msg: &payload.bytes,
            aad: &[&fields[..], &place_bytes].concat(),
        };
        let sealed = XChaCha20Poly1305::new(self.key.as_bytes().into())
            .encrypt(&nonce(&self.random, place), message)
            .expect("no payload is above the hard limit, which is far below the cipher's");
        let bytes = envelope::end(fields, &sealed, &place_bytes);
        Payload::new(ID, payload.manifest.clone(), bytes)
    }

    fn fields(&self, inner_id: u32) -> Vec<u8> {
        let key_id = self.key_id.as_bytes();
        let mut fields = envelope::begin(inner_id);
        fields.push(key_id.len() as u8);
        fields.extend(key_id);
        fields.extend(self.random);
        fields
    }
}

/// Decrypts a payload that [`Seal::seal`] returned for this place.
pub(super) fn open(
    payload: &Payload,
    key_store: Option<&dyn KeyStore>,
    place: Place<'_>,
) -> Result<Payload, DecodeError> {
    let key_store = key_store.ok_or(DecodeError::NoKeyStore)?;
    let (mut opening, inner_id) = Opening::new(NAME, &payload.bytes)?;
    let [len] = opening.array()?;
    let key_id = opening.take(len.into())?;
    let key_id = KeyId::new(key_id).map_err(|_| opening.malformed("no id of a key"))?;
    let random: Random = opening.array()?;
    if inner_id == ID {
        return Err(opening.malformed("something else that is encrypted is inside"));
    }
    let place_bytes = place.bytes(&payload.manifest);
    let (fields, sealed) = opening.finish(&place_bytes)?;
    let key = match key_store.find_key(&key_id).map_err(DecodeError::KeyStore)? {
        FoundKey::Key(key) => key,
        FoundKey::Destroyed => return Err(DecodeError::Shredded { key_id }),
        FoundKey::Unknown => return Err(DecodeError::UnknownKey { key_id }),
    };
    let message = Message {
        msg: sealed,
        aad: &[fields, &place_bytes].concat(),
    };
    let opened = XChaCha20Poly1305::new(key.as_bytes().into())
        .decrypt(&nonce(&random, place), message)
        .map_err(|_| DecodeError::Malformed {
            serializer: NAME.to_owned(),
            reason: "changed, or encrypted with another key than that of its id",
        })?;
    Ok(Payload::new(inner_id, payload.manifest.clone(), opened))
}

fn nonce(random: &Random, place: Place<'_>) -> XNonce {
    let mut nonce = XNonce::default();
    let (first, last) = nonce.split_at_mut(random.len());
    first.copy_from_slice(random);
    last.copy_from_slice(&place.number.to_be_bytes());
    nonce
}

impl Place<'_> {
    /// Returns the place as bytes, which differ for any two places and manifests.
    fn bytes(self, manifest: &str) -> Vec<u8> {
        let mut bytes = vec![self.kind as u8];
        bytes.extend(self.number.to_be_bytes());
        for text in [self.persistence_id.as_str(), manifest] {
            bytes.extend((text.len() as u64).to_be_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    }
}
