//! The name and version under which a type is stored.

use std::sync::Arc;

use super::DecodeError;

/// `NAME:vVERSION`, built once per actor and shared by all its payloads.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    text: Arc<str>,
    name: &'static str,
    version: u32,
}

impl Manifest {
    pub(crate) fn new(name: &'static str, version: u32) -> Self {
        Self {
            text: format!("{name}:v{version}").into(),
            name,
            version,
        }
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Accepts this name at this version or a lower one, which serde reads by its own rules.
    pub(super) fn check_stored(&self, stored: &str) -> Result<(), DecodeError> {
        let known = stored == &*self.text
            || stored.rsplit_once(":v").is_some_and(|(name, version)| {
                name == self.name
                    && version
                        .parse::<u32>()
                        .is_ok_and(|version| version >= 1 && version <= self.version)
            });
        if known {
            return Ok(());
        }
        Err(DecodeError::UnknownManifest {
            found: stored.to_owned(),
            expected: self.text.to_string(),
        })
    }
}
