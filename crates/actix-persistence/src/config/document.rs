//! The contents of a config file, whatever its language.

use actix_persistence_storage_api::{ConfigError, Section};

/// The contents of a config file.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Section,
    /// Mistakes that the language allows but no key of a config can have.
    pub(super) mistakes: Vec<ConfigError>,
    /// Parts that are ignored.
    pub(super) warnings: Vec<String>,
}
