//! The error of loading a config.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why a config could not be loaded, before its keys were interpreted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigLoadError {
    /// The file does not exist.
    #[error(
        "cannot find the config file '{}'; create it or name another",
        path.display()
    )]
    Missing {
        /// The file, absolute, so that it shows which working directory was searched.
        path: PathBuf,
    },
    /// The file is there but cannot be read.
    #[error(
        "cannot read the config file '{}'; check that it is a file and that this user may read it",
        path.display()
    )]
    Unreadable {
        /// The file, as an absolute path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is larger than any config.
    #[error(
        "cannot read the config file '{}', because it has more than {limit} bytes; name a config file",
        path.display()
    )]
    TooLarge {
        /// The file, as it was named.
        path: PathBuf,
        /// The most bytes that are read.
        limit: u64,
    },
    /// The file is in a language that this build cannot read.
    #[error(
        "cannot read the config file '{}', because HOCON is not built in; enable the feature 'hocon' of actix-persistence, or write TOML",
        path.display()
    )]
    WithoutHocon {
        /// The file, as it was named.
        path: PathBuf,
    },
    /// The file or text is not in its language.
    #[error("{name}:{line}:{column}: not valid {language}: {message}")]
    Syntax {
        /// The language of the file, TOML or HOCON.
        language: &'static str,
        /// The file, or the name given to the text.
        name: String,
        /// The line, from 1.
        line: u32,
        /// The column in characters, from 1.
        column: u32,
        /// The mistake; never quotes the file, which may hold a secret there.
        message: String,
    },
    /// A substitution or an include of a HOCON file leads nowhere.
    #[error("{name}: cannot resolve the config: {message}")]
    Unresolved {
        /// The file, or the name given to the text.
        name: String,
        /// The mistake, with the path or file that was not found.
        message: String,
    },
}

impl ConfigLoadError {
    pub(super) fn reading(path: &Path, source: io::Error) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            _ => Self::Unreadable { path, source },
        }
    }
}
