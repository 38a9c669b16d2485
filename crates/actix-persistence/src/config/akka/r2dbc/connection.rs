//! The section `connection-factory`: the place of the database, and how connections to it are made.

use actix_persistence_storage_api::{Item, Section};

use super::super::{take, take_all, take_section, warn_of_twin};

/// The keys of the place, which a `url` that is not empty replaces.
const PLACE: [&str; 5] = ["host", "port", "database", "user", "password"];
/// The other keys that mean the same here.
const SAME: [&str; 3] = ["connect-timeout", "acquire-timeout", "statement-timeout"];
/// The keys about encryption, and their names here.
const TLS: [(&str, &str); 3] = [
    ("root-cert", "tls-root-certificate"),
    ("cert", "tls-client-certificate"),
    ("key", "tls-client-key"),
];
/// The key about encryption here.
const MODE: &str = "tls";

const NUMBER: &str = "'writers' and 'read-connections' set the number of connections";

/// Returns the section as keys of our stores. Warnings never quote a value: there may be a password in it.
pub(super) fn read(mut factory: Section, warnings: &mut Vec<String>) -> Section {
    let mut ours = Section::new(factory.path(), factory.origin().clone());
    let url = factory.reader().string("url").unwrap_or_default();
    let url_item = factory.remove("url").filter(|_| !url.is_empty());
    for key in PLACE {
        match factory.remove(key) {
            Some(item) if url_item.is_some() => {
                warn_of_twin(&item.origin, &factory.path_of(key), "url", warnings);
            }
            Some(item) => drop(ours.insert(key, item)),
            None => {}
        }
    }
    if let Some(item) = url_item {
        let url = url.strip_prefix("r2dbc:").unwrap_or(&url);
        let url = url.strip_prefix("pool:").unwrap_or(url);
        let value = url.into();
        ours.insert("url", Item { value, ..item });
    }
    for key in SAME {
        if let Some(item) = factory.remove(key) {
            ours.insert(key, item);
        }
    }
    if let Some(ssl) = take_section(&mut factory, "ssl") {
        read_tls(ssl, &mut ours, warnings);
    }
    take(
        &mut factory,
        "driver",
        "'dialect' chooses the plugin",
        warnings,
    );
    take(&mut factory, "initial-size", NUMBER, warnings);
    take(&mut factory, "max-size", NUMBER, warnings);
    take_all(
        &mut factory,
        "the plugin makes and keeps connections in its own way",
        warnings,
    );
    ours
}

/// Without `enabled` what is there counts: connections are never less safe than the section says.
fn read_tls(mut ssl: Section, ours: &mut Section, warnings: &mut Vec<String>) {
    let is_on = ssl.reader().boolean_or("enabled", true);
    let enabled = ssl.remove("enabled");
    if !is_on {
        let value = "disable".into();
        if let Some(item) = enabled {
            ours.insert(MODE, Item { value, ..item });
        }
        take_all(&mut ssl, "'enabled' is off", warnings);
        return;
    }
    let mode = ssl.reader().string("mode").unwrap_or_default();
    if let Some(item) = ssl.remove("mode").filter(|_| !mode.is_empty()) {
        let value = mode.to_ascii_lowercase().replace('_', "-").into();
        ours.insert(MODE, Item { value, ..item });
    } else if let Some(item) = enabled {
        let value = "verify-full".into();
        ours.insert(MODE, Item { value, ..item });
    }
    for (key, name) in TLS {
        let text = ssl.reader().string(key).unwrap_or_default();
        if let Some(item) = ssl.remove(key).filter(|_| !text.is_empty()) {
            ours.insert(name, item);
        }
    }
    take_all(
        &mut ssl,
        "keep the key of the certificate in a file without a password",
        warnings,
    );
}
