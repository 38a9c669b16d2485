//! The error of a type that declares its older forms wrongly.

use super::Versions;

/// A type declares in its `upcasters()` what cannot be; found when an actor with it is started, or when its values are
/// first read or stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the upcasters of {manifest:?}, version {version}, cannot be: {problem}")]
pub struct InvalidUpcasters {
    manifest: &'static str,
    version: u32,
    /// In a box, so that errors of recoveries stay small.
    problem: Box<Problem>,
}

impl InvalidUpcasters {
    pub(super) fn new(manifest: &'static str, version: u32, problem: Problem) -> Self {
        Self {
            manifest,
            version,
            problem: Box::new(problem),
        }
    }
}

/// The mistake in a declaration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error(
        "nothing reads version {version} of {name:?}; declare a `chain`, say that it is `unchanged`, or say with `since` that no older ones are stored"
    )]
    Missing { name: &'static str, version: u32 },
    #[error("version {version} of {name:?} is declared twice")]
    Twice { name: &'static str, version: u32 },
    #[error("{versions} of {name:?} is declared, but can only be within {lowest}..={highest}")]
    OutOfRange {
        name: &'static str,
        versions: Versions,
        lowest: u32,
        highest: u32,
    },
    #[error("the versions of a chain of {name:?} must ascend, but {next} comes after {version}")]
    NotAscending {
        name: &'static str,
        version: u32,
        next: u32,
    },
    #[error("it is declared as an earlier or retired name of itself")]
    OwnName,
    #[error("since version {0} is said, but its versions are from 1 to that of today")]
    Since(u32),
    #[error("`since` is said twice")]
    SinceTwice,
    #[error("`writes` is said twice")]
    WritesTwice,
    #[error("it writes version {0}, but no chain reads that version as the type that is written")]
    WritesUnread(u32),
}
