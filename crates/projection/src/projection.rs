//! The handle of a projection that runs.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::places::Places;
use crate::status::Board;
use crate::{ProjectionStatus, StoredProjection};

/// A projection that runs in this process; it stops when the handle is dropped.
///
/// Other processes with the same name and version share the work, if they use the same offset store. What they share is
/// managed by the methods of the [`StoredProjection`] that it derefs to.
pub struct Projection {
    pub(crate) stored: StoredProjection,
    pub(crate) owner: Arc<str>,
    pub(crate) places: Arc<dyn Places>,
    pub(crate) board: Arc<Board>,
    pub(crate) node: Option<JoinHandle<()>>,
}

impl Projection {
    /// Returns the state of the projection, as this process sees it.
    pub fn status(&self) -> ProjectionStatus {
        self.board.status(&self.owner)
    }

    /// Stops the part of this process: lets transactions and handlers that have begun end, however long they take, and releases
    /// the shares. Other processes go on.
    ///
    /// # Cancel safety
    /// Goes on to its end even if the future is dropped.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        if let Some(node) = self.node.take() {
            let _ = node.await;
        }
    }
}

/// It is managed as any stored projection.
impl Deref for Projection {
    type Target = StoredProjection;

    fn deref(&self) -> &StoredProjection {
        &self.stored
    }
}

impl Drop for Projection {
    /// Its part ends in the background.
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl fmt::Debug for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Projection")
            .field("key", self.key())
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
