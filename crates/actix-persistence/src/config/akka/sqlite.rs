//! The keys of Akka.NET's stores on SQLite.

use actix_persistence_storage_api::{ConfigError, Item, Section};

use super::take;

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

fn rename(section: &mut Section, key: &str, name: &str, warnings: &mut Vec<String>) {
    if section.get(name).is_none()
        && let Some(item) = section.remove(key)
    {
        put(section, key, name, item, warnings);
    }
}

fn put(section: &mut Section, key: &str, name: &str, item: Item, warnings: &mut Vec<String>) {
    warnings.push(format!(
        "{}: '{}' is read as '{name}'; write that instead",
        item.origin,
        section.path_of(key)
    ));
    section.insert(name, item);
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
            let origin = item.origin;
            let path = section.path_of(key);
            warnings.push(format!("{origin}: '{path}' is ignored; 'url' is there too"));
            None
        }
        _ => {
            let path = section.path_of(key);
            Some(ConfigError {
                message: format!(
                    "'{path}' cannot be read as the name of a file; write url = \"sqlite://bank.db\", \
                     or kind = \"memory\" for a database in memory"
                ),
                origin: item.origin,
                path,
            })
        }
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
