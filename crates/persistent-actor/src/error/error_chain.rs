//! An error with its causes on one line.

use std::error::Error;
use std::fmt;

/// Shows an error and all its causes on one line, with `: ` between them.
///
/// The errors of this library never repeat their causes, so that `{error}` alone says what could not be done and not why.
/// Crates for reports of errors, such as `anyhow` with `{error:#}`, show the same.
///
/// ```
/// use actix_persistence_persistent_actor::{ErrorChain, PersistError, RejectionCause};
///
/// let error = PersistError::Rejected(RejectionCause::DuringRecovery);
/// assert_eq!(error.to_string(), "the write was rejected");
/// assert_eq!(
///     ErrorChain(&error).to_string(),
///     "the write was rejected: events cannot be persisted before the recovery has completed",
/// );
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}
