//! Finding a store by its plugin id.

use std::collections::BTreeMap;

use actix_persistence_persistent_actor::StartError;

pub(crate) const JOURNAL_PREFIX: &str = "persistence.journal.";
pub(crate) const SNAPSHOT_PREFIX: &str = "persistence.snapshot-store.";
pub(crate) const STATE_PREFIX: &str = "persistence.state.";

/// A plugin id may be given as the path of its section too.
pub(crate) fn short_id<'a>(plugin_id: &'a str, prefix: &str) -> &'a str {
    plugin_id.strip_prefix(prefix).unwrap_or(plugin_id)
}

/// The store with its short id, if one was asked for; `store` is the sort for the error.
pub(crate) fn find<'a, T>(
    store: &'static str,
    prefix: &str,
    known: &'a BTreeMap<String, T>,
    plugin_id: Option<String>,
) -> Result<Option<(&'a str, &'a T)>, StartError> {
    let Some(plugin_id) = plugin_id else {
        return Ok(None);
    };
    match known.get_key_value(short_id(&plugin_id, prefix)) {
        Some((id, entry)) => Ok(Some((id, entry))),
        None => Err(unknown(store, &plugin_id, known)),
    }
}

fn unknown<T>(store: &'static str, plugin_id: &str, known: &BTreeMap<String, T>) -> StartError {
    StartError::UnknownPlugin {
        store,
        plugin_id: plugin_id.to_owned(),
        known: known.keys().cloned().collect(),
    }
}
