//! A path as the `url` of the SQLite plugin.

use std::path::Path;

use actix_persistence_sqlite::SqliteOptions;
use actix_persistence_storage_api::{ConfigError, ConfigErrors, Origin};

use crate::OpenError;

/// Returns the `url` of a file, with the characters escaped that have a meaning in a URL. Fails if the path is not UTF-8.
pub(crate) fn of(path: &Path) -> Result<String, OpenError> {
    SqliteOptions::url_of(path).ok_or_else(|| {
        OpenError::Config(ConfigErrors::one(ConfigError {
            origin: Origin::code(),
            path: "persistence.journal.sqlite.url".to_owned(),
            message: format!("the path {} is not UTF-8", path.display()),
        }))
    })
}
