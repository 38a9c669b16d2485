//! The end of an actor, for code that waits until it is gone.

use std::sync::Arc;

use tokio::sync::watch;

use crate::RecoveryError;

/// The end of an actor: closed when it is gone; until then and after that it says why its last recovery failed.
pub(crate) type Gone = watch::Receiver<Option<Arc<RecoveryError>>>;

/// Waits until an actor is gone, and returns why it could not be recovered.
pub(crate) async fn is_gone(mut gone: Gone) -> Option<Arc<RecoveryError>> {
    while gone.changed().await.is_ok() {}
    gone.borrow().clone()
}
