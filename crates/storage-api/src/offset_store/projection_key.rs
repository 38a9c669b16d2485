//! The names of projections.

use std::fmt;
use std::sync::Arc;

/// The name of a projection, and the version of what it makes; each has its own progress.
///
/// The text is `balances` for version 1, and `balances@2` for others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectionKey {
    name: Arc<str>,
    version: u32,
}

impl ProjectionKey {
    /// The most bytes of a name.
    pub const MAX_BYTES: usize = 100;

    /// Makes the key of version 1.
    ///
    /// # Errors
    /// If the name is empty, longer than [`MAX_BYTES`](Self::MAX_BYTES), or has a character other than letters, digits, `-`,
    /// `_` and `.` of ASCII.
    pub fn new(name: impl Into<Arc<str>>) -> Result<Self, InvalidProjectionKey> {
        let name = name.into();
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let fits = (1..=Self::MAX_BYTES).contains(&name.len()) && name.chars().all(is_of_name);
        match fits {
            true => Ok(Self { name, version: 1 }),
            false => Err(InvalidProjectionKey { name }),
        }
    }

    /// Returns the key of another version of the same projection.
    #[must_use]
    pub fn with_version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version, 1 unless another was set.
    pub fn version(&self) -> u32 {
        self.version
    }
}

impl fmt::Display for ProjectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            1 => f.write_str(&self.name),
            version => write!(f, "{}@{version}", self.name),
        }
    }
}

/// A text that names no projection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is no name of a projection; use 1 to {max} letters, digits, '-', '_' and '.' of ASCII",
    max = ProjectionKey::MAX_BYTES
)]
#[non_exhaustive]
pub struct InvalidProjectionKey {
    /// The text.
    pub name: Arc<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_other_characters_is_refused() {
        for name in ["", "a b", "ü", "a@2", "a/b", &"a".repeat(101)] {
            assert!(ProjectionKey::new(name).is_err(), "{name}");
        }
        let key = ProjectionKey::new("Balances.by-customer_1").unwrap();
        assert_eq!(key.to_string(), "Balances.by-customer_1");
        assert_eq!(key.with_version(2).to_string(), "Balances.by-customer_1@2");
    }
}
