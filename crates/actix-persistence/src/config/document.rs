//! What a config file says, in whatever language.

use actix_persistence_storage_api::{ConfigError, Section};

/// What a config file says.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Section,
    /// What the language allows but no key of a config can have.
    pub(super) mistakes: Vec<ConfigError>,
    /// What is ignored.
    pub(super) warnings: Vec<String>,
}
