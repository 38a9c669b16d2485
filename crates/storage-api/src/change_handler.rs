//! Code of the application in the transaction that stores a state.

use async_trait::async_trait;

use crate::{ExtensionError, Session, StateChange};

/// Keeps tables of the application in step with states, as `ChangeHandler` of Akka's R2DBC plugin.
///
/// Runs after the state was written, in the same transaction: both are committed or neither is.
/// One value serves all entities of its type: it is called for one change of an id at a time, for changes of different
/// ids side by side. Where the database undoes a transaction in favour of another one, it is called again for
/// the same change; only one of the calls is committed. So it must have no effect but through the session.
/// [`Session`] says which statements it may run.
#[async_trait]
pub trait ChangeHandler: Send + Sync {
    /// Takes note of a change whose revision was found right.
    ///
    /// # Contract
    /// - **D-HANDLER-1**: a store calls it for every write and delete of its entity type, after the state was written and in
    ///   the same transaction; for a hard delete only if that removed something.
    /// - **D-HANDLER-2**: what it did and the change are stored together or not at all: after an error, a panic, the time
    ///   limit, or a statement that failed nothing is stored, and the change is refused as
    ///   [`Extension`](crate::StorageErrorKind::Extension) with the error as source.
    /// - **D-HANDLER-3**: a store never calls it for a change whose revision is refused.
    /// - **D-HANDLER-4**: a store calls it for one change of an id at a time.
    ///
    /// # Errors
    /// Whatever it says: everything is rolled back, the change is not stored, and its actor learns why. A panic, and
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
