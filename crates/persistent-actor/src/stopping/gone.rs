//! The end of an actor, for code that waits until it is gone.

use std::sync::Arc;

use actix_persistence_store_actor::Observed;

use crate::RecoveryError;

/// The end of an actor, shared by the actor and by those who wait for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gone(Arc<Observed<End>>);

#[derive(Clone, Debug, Default)]
struct End {
    is_gone: bool,
    /// The reason why the last recovery of the actor failed, kept when it is gone.
    unrecovered: Option<Arc<RecoveryError>>,
}

impl Gone {
    /// Notes that the actor is gone.
    pub(crate) fn set(&self) {
        self.0.update(|end| end.is_gone = true);
    }

    /// Notes why the actor could not be recovered; `None` once it is.
    pub(crate) fn set_unrecovered(&self, error: Option<&Arc<RecoveryError>>) {
        self.0.update(|end| end.unrecovered = error.cloned());
    }

    /// Returns why the last recovery failed; `None` if it has not.
    pub(crate) fn unrecovered(&self) -> Option<Arc<RecoveryError>> {
        self.0.get().unrecovered
    }

    /// Waits until the actor is gone, and returns why it could not be recovered.
    pub(crate) async fn wait(self) -> Option<Arc<RecoveryError>> {
        self.0.wait_for(|end| end.is_gone).await.unrecovered
    }
}
