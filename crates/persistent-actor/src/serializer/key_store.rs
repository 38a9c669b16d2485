//! The keys of data subjects.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

/// The keys with which personal data is encrypted, one or more for each data subject; to be implemented by the
/// application.
///
/// To destroy the keys of a subject is to erase its data in every store, replica and backup: nothing can decrypt it any
/// more. So the keys belong into a place of their own, with backups that forget what was destroyed.
///
/// Asked on the thread of an actor, by every event, snapshot and state with personal data that is stored or read: other
/// actors of the thread wait meanwhile. It may wait shortly for a local disk, such as to store a new key, and never for a
/// network. Load the keys before actors start, and store a new key before it is given out: what is encrypted with a key
/// that is lost cannot be read again.
pub trait KeyStore: Send + Sync + 'static {
    /// Returns the key with which data of this subject is encrypted now; makes it if there is none.
    ///
    /// # Errors
    /// If there is no key, such as for a subject that is to be forgotten: what was to be stored is rejected.
    fn current_key(&self, data_subject: &str) -> Result<CurrentKey, Box<dyn Error + Send + Sync>>;

    /// Returns the key with this id.
    ///
    /// [`FoundKey::Destroyed`] only for an id whose key was destroyed: an actor goes on without the data. The ids of
    /// destroyed keys are kept therefore; one that was never there is [`FoundKey::Unknown`], and makes the recovery fail.
    ///
    /// # Errors
    /// If it cannot be said now: a recovery fails, and is tried again, and a live query waits.
    fn find_key(&self, id: &KeyId) -> Result<FoundKey, Box<dyn Error + Send + Sync>>;
}

/// The key of a subject with its id.
#[derive(Clone, Debug)]
pub struct CurrentKey {
    /// The id under which [`KeyStore::find_key`] finds the key; it is stored in plain beside what the key encrypts.
    pub id: KeyId,
    /// The key.
    pub key: EncryptionKey,
}

/// The answer to the question for a key.
#[derive(Clone, Debug)]
pub enum FoundKey {
    /// The key is there.
    Key(EncryptionKey),
    /// The key was there and was destroyed.
    Destroyed,
    /// No such key was ever there.
    Unknown,
}

/// The id of a key: 1 to [`KeyId::MAX_BYTES`] bytes that say nothing about the subject, such as those of a random UUID.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(Arc<[u8]>);

/// The id of a key is empty or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a key has {len} bytes, and not 1 to {}", KeyId::MAX_BYTES)]
pub struct InvalidKeyId {
    /// The number of its bytes.
    pub len: usize,
}

impl KeyId {
    /// The most bytes of an id: 64.
    pub const MAX_BYTES: usize = 64;

    /// Makes the id of these bytes.
    ///
    /// # Errors
    /// If there are none or too many.
    pub fn new(bytes: &[u8]) -> Result<Self, InvalidKeyId> {
        match bytes.len() {
            1..=Self::MAX_BYTES => Ok(Self(bytes.into())),
            len => Err(InvalidKeyId { len }),
        }
    }

    /// Returns the bytes of the id.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Shows the id as hexadecimal digits.
impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyId(")?;
        for byte in &*self.0 {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

/// A key of 256 bits; clones share it, and the last one overwrites it with zeros when it is dropped.
///
/// `Debug` does not show it.
#[derive(Clone)]
pub struct EncryptionKey(Arc<Zeroizing<[u8; EncryptionKey::BYTES]>>);

impl EncryptionKey {
    /// The number of bytes of a key: 32.
    pub const BYTES: usize = 32;

    /// Takes a key of uniformly random bytes; the caller overwrites its own copy.
    pub fn new(bytes: &[u8; Self::BYTES]) -> Self {
        Self(Arc::new(Zeroizing::new(*bytes)))
    }

    /// Makes a new key from the random numbers of the operating system.
    ///
    /// # Errors
    /// If the system has none.
    pub fn random() -> std::io::Result<Self> {
        let mut bytes = Zeroizing::new([0; Self::BYTES]);
        getrandom::fill(&mut *bytes)?;
        Ok(Self(Arc::new(bytes)))
    }

    /// Returns the bytes of the key, for a key store that keeps them.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(..)")
    }
}
