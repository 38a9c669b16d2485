//! Keys of Akka's config: those that have no meaning here, and those that have another name.

#[cfg(feature = "sqlite")]
mod connection_string;
#[cfg(feature = "hocon")]
mod mailbox;
mod r2dbc;
mod sqlite;
mod stash;

use actix_persistence_storage_api::{ConfigError, Item, Origin, Section, Untyped, Value};

#[cfg(feature = "hocon")]
pub(super) use mailbox::take_over_mailbox;

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
const MEANINGLESS: [(Place, &str, &str); 20] = [
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

/// Takes over what the section `persistence` says in Akka's words, and returns what cannot be taken over.
pub(super) fn take_over_persistence(
    persistence: &mut Section,
    warnings: &mut Vec<String>,
) -> Vec<ConfigError> {
    take_meaningless(Place::Persistence, persistence, warnings);
    let mut refused = stash::take_over(persistence, warnings);
    refused.extend(r2dbc::take_over(persistence, warnings));
    refused
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

fn take_all(section: &mut Section, instead: &str, warnings: &mut Vec<String>) {
    let keys: Vec<_> = section.iter().map(|(key, _)| key.to_owned()).collect();
    for key in keys {
        take(section, &key, instead, warnings);
    }
}

/// Gives a key the name that it has here, unless a key of that name is there.
fn rename(section: &mut Section, key: &str, name: &str, warnings: &mut Vec<String>) {
    if section.get(name).is_none()
        && let Some(item) = section.remove(key)
    {
        put(section, key, name, item, warnings);
    }
}

/// Inserts what was written as `key` under the name that it has here.
fn put(section: &mut Section, key: &str, name: &str, item: Item, warnings: &mut Vec<String>) {
    warnings.push(format!(
        "{}: '{}' is read as '{name}'; write that instead",
        item.origin,
        section.path_of(key)
    ));
    section.insert(name, item);
}

/// Removes a section within a section; a key of that name that is no section stays.
fn take_section(section: &mut Section, key: &str) -> Option<Section> {
    let item = section.remove(key)?;
    match item.value {
        Value::Section(inner) => Some(inner),
        _ => {
            section.insert(key, item);
            None
        }
    }
}

/// Inserts a section within a section.
fn put_section(section: &mut Section, key: &str, inner: Section) {
    let origin = inner.origin().clone();
    let value = Value::Section(inner);
    section.insert(key, Item { value, origin });
}

/// Warns that a key is ignored, because one that means the same is there.
fn warn_of_twin(origin: &Origin, path: &str, twin: &str, warnings: &mut Vec<String>) {
    warnings.push(format!(
        "{origin}: '{path}' is ignored; '{twin}' is there too"
    ));
}

/// A mistake in the value of a key; the message continues its name.
fn mistake(path: String, origin: Origin, message: &str) -> ConfigError {
    ConfigError {
        message: format!("'{path}' {message}"),
        origin,
        path,
    }
}
