//! The code of an application that a projection runs.

use actix_persistence_storage_api::{ExtensionError, Session};
use async_trait::async_trait;

/// Makes statements of one event or change, in the transaction that stores the progress.
///
/// The statements in the session are stored once for each item, however often processes are killed and servers restarted. The
/// handler must have no other effect: a transaction that is taken back is run again. [`Session`] says which statements it may run.
///
/// Items of one id come in their order, one at a time. Those of different shares come at the same time.
#[async_trait]
pub trait ExactlyOnceHandler<T>: Send + Sync + 'static {
    /// Handles one item.
    ///
    /// # Errors
    /// After any error nothing of the transaction is stored; [`OnFailure`](crate::OnFailure) says what happens then. A panic, and
    /// taking longer than the store's `handler-timeout`, count as errors.
    ///
    /// # Cancel safety
    /// May be dropped at any await; the transaction is then rolled back.
    async fn handle(&self, session: &mut dyn Session, item: &T) -> Result<(), ExtensionError>;
}

/// Makes statements of several events or changes at once, in the transaction that stores the progress; otherwise as an
/// [`ExactlyOnceHandler`].
#[async_trait]
pub trait GroupHandler<T>: Send + Sync + 'static {
    /// Handles items, at least one, in the order in which they were stored.
    ///
    /// If it fails for several of them, each is handed to it alone, to find the one that it fails for.
    ///
    /// # Errors
    /// As [`ExactlyOnceHandler::handle`].
    ///
    /// # Cancel safety
    /// As [`ExactlyOnceHandler::handle`].
    async fn handle_group(
        &self,
        session: &mut dyn Session,
        items: &[T],
    ) -> Result<(), ExtensionError>;
}

/// Does something of one event or change outside of the database that has the progress.
///
/// Each item comes at least once, and again if the process ends before the progress is stored, which is after the items of
/// a group. Items of one id come in their order, one at a time; those of different ids may come at the same time.
#[async_trait]
pub trait AtLeastOnceHandler<T>: Send + Sync + 'static {
    /// Handles one item.
    ///
    /// # Errors
    /// [`OnFailure`](crate::OnFailure) says what happens after an error, or a panic.
    ///
    /// # Cancel safety
    /// Not dropped before its end, unless the runtime of the stores ends: a projection that stops waits for it, and keeps its
    /// share until then.
    async fn handle(&self, item: &T) -> Result<(), ExtensionError>;
}
