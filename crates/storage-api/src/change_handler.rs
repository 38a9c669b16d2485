//! Code of the application in the transaction that stores a state.

use async_trait::async_trait;

use crate::{ExtensionError, Session, StateChange};

/// Keeps tables of the application in step with states, as `ChangeHandler` of Akka's R2DBC plugin.
///
/// Runs after the state was written, in the same transaction: both are committed or neither is.
/// One value serves all entities of its type: it is called for one change of an id at a time, for changes of different
/// ids side by side. Where the database undoes a transaction in favour of another one, it is called again for
/// the same change; only one of the calls is committed. So it must have no effect but through the session.
#[async_trait]
pub trait ChangeHandler: Send + Sync {
    /// Takes note of a change whose revision was found right.
    ///
    /// Called for writes, deletes, and for hard deletes that removed something.
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
