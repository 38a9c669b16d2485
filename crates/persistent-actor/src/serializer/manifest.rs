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

    /// The version of what is stored: this name at this version or a lower one is accepted.
    pub(crate) fn stored_version(&self, stored: &str) -> Result<u32, DecodeError> {
        if stored == &*self.text {
            return Ok(self.version);
        }
        stored
            .rsplit_once(":v")
            .filter(|(name, _)| *name == self.name)
            .and_then(|(_, version)| version.parse().ok())
            .filter(|version| (1..=self.version).contains(version))
            .ok_or_else(|| DecodeError::UnknownManifest {
                found: stored.to_owned(),
                expected: self.text.to_string(),
            })
    }
}
