//! Handlers that take their time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, Session, StateChange, StateExtensions, StateStore,
    StorageErrorKind,
};
use async_trait::async_trait;

use super::with_handler;
use crate::states::{revision_of, state, store};

/// Lets the server sleep, again and again.
struct Sleepy {
    /// The statement, which takes a second.
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
/// statements well before this many seconds, and take the given one for a statement that lasts one.
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

/// Runs a statement that never ends.
struct Endless(&'static str);

#[async_trait]
impl ChangeHandler for Endless {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        session.select(self.0, []).await?;
        Ok(())
    }
}

/// A statement of a handler whose time is over ends with it: the next call finds none of its locks. The stores that are
/// opened allow handlers 50 ms, and the given statement lasts longer than everything here.
///
/// # Panics
/// If it is otherwise.
pub async fn a_statement_that_was_given_up_leaves_no_lock(
    statement: &'static str,
    open: impl AsyncFn(StateExtensions) -> Arc<dyn StateStore>,
) {
    const TIMES: u32 = 10;
    let endless = open(with_handler(Endless(statement))).await;
    let plain = open(StateExtensions::default()).await;
    let begun = Instant::now();
    for number in 0..TIMES {
        let name = number.to_string();
        let error = endless.upsert(state(&name, 1)).await;
        let error = error.expect_err("the handler never ends");
        assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
        assert!(error.is_not_stored(), "{error:?}");
        store(&*plain, state(&name, 1)).await;
    }
    let took = begun.elapsed();
    assert!(took < TIMES * Duration::from_secs(1), "it took {took:?}");
}
