//! The name and version under which a type is stored.

use std::sync::Arc;

use super::DecodeError;

/// A stored manifest as errors show it: cut where it is longer than any that is ever stored.
pub(crate) fn shown(stored: &str) -> String {
    const MOST: usize = 255;
    match stored.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &stored[..end]),
        None => stored.to_owned(),
    }
}

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
                found: shown(stored),
                expected: self.text.to_string(),
            })
    }
}
