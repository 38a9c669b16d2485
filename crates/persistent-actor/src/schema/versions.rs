//! The versions of a stored form.

use std::fmt;
use std::ops::RangeInclusive;

/// The versions that a declaration is about: one, `3`, or those from a first to a last one, both inclusive, `1..=2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Versions {
    pub(super) const ALL: Self = Self {
        first: 1,
        last: u32::MAX,
    };

    pub(super) fn contains(self, version: u32) -> bool {
        (self.first..=self.last).contains(&version)
    }

    /// Returns the versions that are in both; `None` if there are none.
    pub(super) fn and(self, other: Self) -> Option<Self> {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        (first <= last).then_some(Self { first, last })
    }
}

impl From<u32> for Versions {
    fn from(version: u32) -> Self {
        Self {
            first: version,
            last: version,
        }
    }
}

impl From<RangeInclusive<u32>> for Versions {
    fn from(versions: RangeInclusive<u32>) -> Self {
        Self {
            first: *versions.start(),
            last: *versions.end(),
        }
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.last) {
            (1, u32::MAX) => f.write_str("every version"),
            (first, last) if first == last => write!(f, "version {first}"),
            (first, last) => write!(f, "versions {first} to {last}"),
        }
    }
}
