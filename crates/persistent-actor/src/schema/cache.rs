//! The schemas of this process, each made once.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use super::{InvalidUpcasters, Role, Schema};

type Key = (Role, TypeId);
type Made<T> = Result<Arc<Schema<T>>, InvalidUpcasters>;

/// Holds a [`Made`] for each key; grows with the types of the program, and never shrinks.
static MADE: LazyLock<RwLock<HashMap<Key, Arc<dyn Any + Send + Sync>>>> =
    LazyLock::new(RwLock::default);

/// Returns the schema with this key, which names the type `T`; makes it unless it is there.
pub(super) fn get<T: 'static>(
    key: Key,
    make: impl FnOnce() -> Result<Schema<T>, InvalidUpcasters>,
) -> Made<T> {
    // An entry is put in whole, so a panic elsewhere leaves nothing half done.
    let found = MADE
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&key)
        .cloned();
    let entry = found.unwrap_or_else(|| {
        // Code of the application runs without the lock. Of two that are made at a time the first is kept.
        let made: Made<T> = make().map(Arc::new);
        let mut map = MADE.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry(key).or_insert_with(|| Arc::new(made)))
    });
    entry
        .downcast_ref::<Made<T>>()
        .expect("the key names the type")
        .clone()
}
