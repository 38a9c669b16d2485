//! Handlers that take their time.

use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, Session, StateChange, StateExtensions, StateStore,
};
use async_trait::async_trait;

use super::with_handler;
use crate::states::{revision_of, state, store};

/// Lets the server sleep, again and again.
struct Sleepy {
    /// Takes a second.
    statement: &'static str,
    times: usize,
}

#[async_trait]
impl ChangeHandler for Sleepy {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        for _ in 0..self.times {
            session.execute(self.statement, []).await?;
        }
        Ok(())
    }
}

/// A handler may take as long as `handler-timeout` says, although a statement may not; the store that is opened must end
/// statements well before so many seconds, and take the given one for a statement that lasts one.
///
/// # Panics
/// If it is otherwise.
pub async fn a_handler_may_take_longer_than_any_statement(
    times: usize,
    statement: &'static str,
    open: impl AsyncFn(StateExtensions) -> Arc<dyn StateStore>,
) {
    let states = open(with_handler(Sleepy { statement, times })).await;
    store(&*states, state("a", 1)).await;
    assert_eq!(revision_of(&*states, "a").await, 1);
}
