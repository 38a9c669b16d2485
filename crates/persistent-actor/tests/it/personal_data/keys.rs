//! The keys of these tests.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Mutex;

use actix_persistence_persistent_actor::{CurrentKey, EncryptionKey, FoundKey, KeyId, KeyStore};

/// Keys in memory, one for each subject; its id is the subject.
#[derive(Default)]
pub(crate) struct Keys(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    keys: HashMap<KeyId, FoundKey>,
    is_away: bool,
}

impl Keys {
    /// Destroys the key of a subject.
    pub(crate) fn destroy(&self, subject: &str) {
        self.set(subject, FoundKey::Destroyed);
    }

    /// Replaces the key of a subject.
    pub(crate) fn set(&self, subject: &str, found: FoundKey) {
        let id = KeyId::new(subject.as_bytes()).unwrap();
        self.0.lock().unwrap().keys.insert(id, found);
    }

    /// Lets every question fail, or no more.
    pub(crate) fn set_away(&self, is_away: bool) {
        self.0.lock().unwrap().is_away = is_away;
    }
}

impl KeyStore for Keys {
    fn current_key(&self, subject: &str) -> Result<CurrentKey, Box<dyn Error + Send + Sync>> {
        let mut inner = self.0.lock().unwrap();
        if inner.is_away {
            return Err("no keys today".into());
        }
        let id = KeyId::new(subject.as_bytes())?;
        let random = EncryptionKey::random()?;
        let found = inner.keys.entry(id.clone());
        match found.or_insert(FoundKey::Key(random)).clone() {
            FoundKey::Key(key) => Ok(CurrentKey { id, key }),
            _ => Err("the subject is forgotten".into()),
        }
    }

    fn find_key(&self, id: &KeyId) -> Result<FoundKey, Box<dyn Error + Send + Sync>> {
        let inner = self.0.lock().unwrap();
        if inner.is_away {
            return Err("no keys today".into());
        }
        let found = inner.keys.get(id).cloned();
        Ok(found.unwrap_or(FoundKey::Unknown))
    }
}
