//! Every mistake of a config, collected from all who look at it.

use std::collections::HashSet;

use actix_persistence_storage_api::{ConfigError, ConfigErrors};

use super::inherited::Inherited;

/// Collects mistakes until all have been found, so that a user sees them together.
#[derive(Debug, Default)]
pub(crate) struct Mistakes(Vec<ConfigError>);

impl Mistakes {
    pub(super) fn new(errors: Vec<ConfigError>) -> Self {
        Self(errors)
    }

    /// Adds what a reader of a section found.
    pub(crate) fn add(&mut self, result: Result<(), ConfigErrors>) {
        if let Err(errors) = result {
            self.0.extend(errors.into_errors());
        }
    }

    /// Adds what a reader of a merged section found.
    pub(super) fn add_written(&mut self, inherited: &Inherited, result: Result<(), ConfigErrors>) {
        if let Err(errors) = result {
            let errors = errors.into_errors().into_iter();
            self.0
                .extend(errors.map(|error| inherited.where_written(error)));
        }
    }

    /// Ends the collecting of mistakes.
    ///
    /// # Errors
    /// All mistakes, each once, sorted by file and line.
    pub(crate) fn check(self) -> Result<(), ConfigErrors> {
        let mut errors = self.0;
        // A key of a fallback section is read once for each section that falls back to it.
        let mut seen = HashSet::new();
        errors.retain(|error| seen.insert(error.to_string()));
        errors.sort_by_cached_key(|error| {
            let origin = &error.origin;
            (origin.source.clone(), origin.line, error.path.clone())
        });
        ConfigErrors::check(errors)
    }
}
