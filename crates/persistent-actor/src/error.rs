//! The errors of actors, and how errors and panics become text.

pub(crate) mod error_chain;
pub(crate) mod panics;
pub(crate) mod persist_error;
mod recovery_error;
mod replay_issue;
mod reserve_error;
mod start_error;
mod unknown_store;

pub use error_chain::ErrorChain;
pub use persist_error::{FromPersistError, PersistError, RejectionCause};
pub use recovery_error::RecoveryError;
pub use replay_issue::{ReplayIssue, ReplayIssueKind};
pub use reserve_error::ReserveError;
pub use start_error::StartError;
pub use unknown_store::UnknownStore;
