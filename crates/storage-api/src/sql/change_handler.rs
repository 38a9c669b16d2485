//! Code of the application in the transaction that stores a state.

use async_trait::async_trait;

use crate::{ExtensionError, Session, StateChange};

/// Keeps tables of the application in step with states, as `ChangeHandler` of Akka's R2DBC plugin.
///
/// Runs after the state was written, in the same transaction: both are committed or neither is.
/// One value serves all entities of its type: it is called for one change of an id at a time, for changes of different
/// ids at the same time. Where the database undoes a transaction in favour of another one, it is called again for
/// the same change; only one of the calls is committed. So it must have no effect but through the session.
/// [`Session`] says which statements it may run.
#[async_trait]
pub trait ChangeHandler: Send + Sync {
    /// Runs for a change whose revision is right.
    ///
    /// # Contract
    /// - **D-HANDLER-1**: The store calls the method for every write and delete of the entity type, after it has
    ///   written the state and in the same transaction; for a hard delete only if that removed something.
    /// - **D-HANDLER-2**: The change and what the method did are stored together or not at all: after an error, a
    ///   panic, a time-out or a failed statement the store stores nothing, and refuses the change as
    ///   [`Extension`](crate::StorageErrorKind::Extension) with the error as its source. A statement that failed because
    ///   the database was out of reach, or because others held its rows for too long, keeps its own kind.
    /// - **D-HANDLER-3**: The store never calls the method for a change whose revision it refuses.
    /// - **D-HANDLER-4**: The store calls the method for one change of an id at a time.
    ///
    /// # Errors
    /// After any error everything is rolled back, the change is not stored, and the actor gets the error. A panic, and
    /// taking longer than the store allows, count as errors.
    ///
    /// # Cancel safety
    /// May be dropped at any await; the transaction is then rolled back.
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError>;
}

/// Fails to compile when [`ChangeHandler`] is no longer object safe.
const _: Option<&dyn ChangeHandler> = None;
