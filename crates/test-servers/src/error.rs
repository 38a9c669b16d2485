//! The errors of a server.

use std::io;

/// The reason why a server does not do what a test wants of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The programs of the server are not installed.
    #[error(
        "could not find {software}, install the package `{package}` or put its programs on the PATH"
    )]
    NotInstalled {
        /// The server, for a person.
        software: &'static str,
        /// The name of Debian's package.
        package: &'static str,
    },
    /// The server ended by itself, or did not answer in time.
    #[error("could not start {software}: {what}, the end of its log:\n{log}")]
    NotStarted {
        /// The server, for a person.
        software: &'static str,
        /// The event that happened instead.
        what: String,
        /// The last lines of its log.
        log: String,
    },
    /// The operating system refused something.
    #[error("could not {action}")]
    Io {
        /// The action that it refused.
        action: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl ServerError {
    /// Returns a function for `map_err`: the system refused this.
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
