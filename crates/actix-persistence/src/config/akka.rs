//! Keys of Akka's config: those that have no meaning here, and those that have another name.

#[cfg(feature = "sqlite")]
mod connection_string;
mod sqlite;

use actix_persistence_storage_api::{ConfigError, Item, Section, Untyped, Value};

/// The place of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A key in `persistence`.
    Persistence,
    /// A key in `persistence.journal`, `persistence.snapshot-store` or `persistence.state`.
    Stores,
    /// A key in the section of a plugin id, or in a fallback section.
    Store,
    /// A key in the section `circuit-breaker` of those.
    CircuitBreaker,
}

const THREADS: &str = "stores have threads of their own";
const BREAKER: &str = "circuit-breaker";
const ALL_OPENED: &str = "every store of the config is opened at the start";

/// The keys without meaning, and what there is instead.
const MEANINGLESS: [(Place, &str, &str); 22] = [
    (
        Place::Persistence,
        "internal-stash-overflow-strategy",
        "'internal-stash.overflow' chooses what happens when a stash is full",
    ),
    (Place::Persistence, "dispatchers", THREADS),
    (
        Place::Persistence,
        "no-snapshot-store",
        "without 'snapshot-store.plugin' there is no default snapshot store",
    ),
    (
        Place::Persistence,
        "view",
        "there are no views; read the events with a replay",
    ),
    (
        Place::Persistence,
        "publish-plugin-commands",
        "stores publish no commands",
    ),
    (
        Place::Persistence,
        "publish-confirmations",
        "there are no confirmations",
    ),
    (
        Place::Persistence,
        "at-least-once-delivery",
        "there is no such delivery",
    ),
    (
        Place::Persistence,
        "fsm",
        "an actor's 'retention' says when it takes snapshots",
    ),
    (
        Place::Persistence,
        "typed",
        "'internal-stash' sets the number of messages that wait",
    ),
    (
        Place::Persistence,
        "query",
        "the section 'query' of a state store says how that is queried",
    ),
    (Place::Stores, "auto-start-journals", ALL_OPENED),
    (Place::Stores, "auto-start-snapshot-stores", ALL_OPENED),
    (
        Place::Stores,
        "auto-migrate-manifest",
        "manifests are names that the code gives",
    ),
    (Place::Store, "class", "'kind' chooses the plugin"),
    (Place::Store, "plugin-dispatcher", THREADS),
    (Place::Store, "replay-dispatcher", THREADS),
    (Place::Store, "stream-dispatcher", THREADS),
    (
        Place::Store,
        "max-message-batch-size",
        "whatever waits is written together, as far as the plugin can take it",
    ),
    (
        Place::Store,
        "replay-batch-size",
        "events are replayed in pages that the plugin may bound",
    ),
    (
        Place::Store,
        "write-response-global-order",
        "answers to one actor come in the order of its writes",
    ),
    (
        Place::Store,
        "only-one-snapshot",
        "an actor's 'retention' sets the number of snapshots that are kept",
    ),
    (
        Place::CircuitBreaker,
        "exception-allowlist",
        "only failures of the store itself count",
    ),
];

/// Takes the keys without meaning out of a section, and returns a warning for each that names what there is instead.
pub(super) fn take_meaningless(place: Place, section: &mut Section, warnings: &mut Vec<String>) {
    for (its_place, key, instead) in MEANINGLESS {
        if its_place == place {
            take(section, key, instead, warnings);
        }
    }
    if place == Place::Store
        && let Some(mut item) = section.remove(BREAKER)
    {
        if let Value::Section(breaker) = &mut item.value {
            take_meaningless(Place::CircuitBreaker, breaker, warnings);
        }
        section.insert(BREAKER, item);
    }
}

/// Takes over what the section of a plugin id says in Akka's words, and returns what cannot be taken over.
pub(super) fn take_over(
    plugin_id: &str,
    section: &mut Section,
    warnings: &mut Vec<String>,
) -> Vec<ConfigError> {
    take_meaningless(Place::Store, section, warnings);
    if plugin_id == "inmem" && section.get("kind").is_none() {
        let origin = section.origin().clone();
        warnings.push(format!(
            "{origin}: '{}' is read as kind = \"memory\"; write that instead",
            section.path()
        ));
        let value = Value::Untyped(Untyped::new("memory"));
        section.insert("kind", Item { value, origin });
    }
    let kind = section.reader().string("kind");
    if kind.as_deref().unwrap_or(plugin_id) == "sqlite" {
        return sqlite::take_over(section, warnings);
    }
    Vec::new()
}

/// The path of a section without the name of the library that it begins with in Akka's or Pekko's config.
pub(super) fn without_library(path: &str) -> &str {
    let libraries = ["akka.", "pekko."];
    let path_within = libraries.iter().find_map(|name| path.strip_prefix(name));
    path_within
        .filter(|path| path.starts_with("persistence."))
        .unwrap_or(path)
}

/// Returns whether this plugin id means in Akka's config that there is no default snapshot store.
pub(super) fn is_no_snapshot_store(path: &str) -> bool {
    without_library(path) == "persistence.no-snapshot-store"
}

fn take(section: &mut Section, key: &str, instead: &str, warnings: &mut Vec<String>) {
    if let Some(item) = section.remove(key) {
        let path = section.path_of(key);
        warnings.push(format!(
            "{}: '{path}' has no meaning here and is ignored; {instead}",
            item.origin
        ));
    }
}
