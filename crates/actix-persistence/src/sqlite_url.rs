//! A path as the `url` of the SQLite plugin.

use std::path::Path;

use actix_persistence_storage_api::{ConfigError, ConfigErrors, Origin};

use crate::OpenError;

/// The file as a `url`, in which some characters have a meaning of their own.
pub(crate) fn of(path: &Path) -> Result<String, OpenError> {
    let Some(text) = path.to_str() else {
        return Err(OpenError::Config(ConfigErrors::one(ConfigError {
            origin: Origin::code(),
            path: "persistence.journal.sqlite.url".to_owned(),
            message: format!("the path {} is not UTF-8", path.display()),
        })));
    };
    let text = text.replace('%', "%25").replace('?', "%3F");
    Ok(format!("sqlite://{text}"))
}
