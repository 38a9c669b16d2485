//! Handlers that take their time.

use std::time::{Duration, Instant};

use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, Session, StateChange, StateExtensions, StorageErrorKind,
};
use async_trait::async_trait;

use super::with_handler;
use crate::states::{revision_of, state, store};
use crate::{OnServer, Tables};

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

/// A handler may take as long as `handler-timeout` says, although a statement may not. For servers, which end statements
/// after three seconds here; a second later the client gives up, too.
///
/// # Panics
/// If it is otherwise.
pub async fn a_handler_may_take_longer_than_any_statement(tables: &dyn OnServer) {
    let section = tables.section_of_handlers();
    let section = section.with("statement-timeout", "3s");
    let section = section.with("lock-timeout", "2s");
    let handler = Sleepy {
        statement: tables.sleeps_a_second(),
        times: 5,
    };
    let states = tables
        .state_store_with(section, &with_handler(handler))
        .await;
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

/// A statement of a handler whose time is over ends with it: the next call finds none of its locks. Handlers have 50 ms
/// here.
///
/// # Panics
/// If it is otherwise.
pub async fn a_statement_that_was_given_up_leaves_no_lock(tables: &dyn Tables) {
    const TIMES: u32 = 10;
    let section = tables.section().with("handler-timeout", "50ms");
    let open = async |extensions| tables.state_store_with(section.clone(), &extensions).await;
    let endless = open(with_handler(Endless(tables.endless_query()))).await;
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
