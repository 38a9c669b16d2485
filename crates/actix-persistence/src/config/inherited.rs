//! The keys of a merged section that were written in its fallback section.

use std::collections::BTreeMap;

use actix_persistence_storage_api::{ConfigError, Section, Value};

/// The keys a section takes from its fallback: the name they are read under, and the one they were written under.
///
/// A mistake in a fallback section would otherwise be reported under a name that stands nowhere in the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited(BTreeMap<String, String>);

impl Inherited {
    /// Collects the keys; to be called before the two are merged.
    pub(super) fn between(own: &Section, fallback: &Section) -> Self {
        let mut inherited = Self::default();
        inherited.collect(own, fallback);
        inherited
    }

    /// The mistake under the name that stands in the file.
    pub(super) fn where_written(&self, error: ConfigError) -> ConfigError {
        let Some(written) = self.0.get(&error.path) else {
            return error;
        };
        let (read, write) = (format!("'{}'", error.path), format!("'{written}'"));
        ConfigError {
            origin: error.origin,
            message: error.message.replace(&read, &write),
            path: written.clone(),
        }
    }

    fn collect(&mut self, own: &Section, fallback: &Section) {
        for (key, item) in fallback.iter() {
            match (own.get(key).map(|item| &item.value), &item.value) {
                (None, _) => {
                    self.0.insert(own.path_of(key), fallback.path_of(key));
                }
                (Some(Value::Section(own)), Value::Section(fallback)) => {
                    self.collect(own, fallback);
                }
                (Some(_), _) => {}
            }
        }
    }
}
