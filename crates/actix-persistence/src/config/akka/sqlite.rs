//! The keys of Akka.NET's stores on SQLite.

use actix_persistence_storage_api::{ConfigError, Item, Section};

use super::{mistake, put, rename, take, warn_of_twin};

const TIMESTAMPS: &str = "time stamps are those of the clock, in UTC";
const ISOLATION: &str = "one transaction writes at a time";

const MEANINGLESS: [(&str, &str); 4] = [
    (
        "connection-timeout",
        "'busy-timeout' says how long a call waits for a lock, 'circuit-breaker.call-timeout' how long for its answer",
    ),
    ("timestamp-provider", TIMESTAMPS),
    ("read-isolation-level", ISOLATION),
    ("write-isolation-level", ISOLATION),
];

/// Takes the keys over that have another name here; returns what cannot be read.
pub(super) fn take_over(section: &mut Section, warnings: &mut Vec<String>) -> Vec<ConfigError> {
    for (key, instead) in MEANINGLESS {
        take(section, key, instead, warnings);
    }
    let path = section.path();
    let table = if path.starts_with("persistence.snapshot-store.") {
        "snapshot-table"
    } else if path.starts_with("persistence.state.") {
        "state-table"
    } else {
        "event-table"
    };
    rename(section, "table-name", table, warnings);
    rename(section, "metadata-table-name", "metadata-table", warnings);
    let keys = ["connection-string", "connection-string-name"];
    let read = |key| read_connection_string(section, key, warnings);
    keys.into_iter().filter_map(read).collect()
}

/// Reads a connection string of Akka. Its messages never quote the text: there may be a password in it.
fn read_connection_string(
    section: &mut Section,
    key: &str,
    warnings: &mut Vec<String>,
) -> Option<ConfigError> {
    let text = section.reader().string(key);
    let item = section.remove(key)?;
    let has_url = section.get("url").is_some();
    match text.as_deref().and_then(url) {
        Some(url) if key == "connection-string" && !has_url => {
            let origin = item.origin;
            let value = url.into();
            put(section, key, "url", Item { value, origin }, warnings);
            None
        }
        _ if has_url => {
            warn_of_twin(&item.origin, &section.path_of(key), "url", warnings);
            None
        }
        _ => Some(mistake(
            section.path_of(key),
            item.origin,
            "cannot be read as the name of a file; write url = \"sqlite://bank.db\", or kind = \"memory\" for a \
             database in memory",
        )),
    }
}

#[cfg(feature = "sqlite")]
fn url(text: &str) -> Option<String> {
    super::connection_string::url(text)
}

/// Returns `None`: without its feature no SQLite database can be opened.
#[cfg(not(feature = "sqlite"))]
fn url(_: &str) -> Option<String> {
    None
}
