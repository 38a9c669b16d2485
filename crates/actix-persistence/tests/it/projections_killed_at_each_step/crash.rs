//! Counts the steps of this process, and ends it at one of them as a kill does.

use std::sync::atomic::{AtomicU64, Ordering};

use actix_persistence::sql::{SessionWork, Sql, SqlValue};
use actix_persistence::storage_api::{Session, SqlRow, StorageError};
use actix_persistence_testkit::{InterceptedPlugin, OffsetAnswer, OffsetCall, Transaction};
use async_trait::async_trait;

/// The steps before the last one; no step counts while it is 0.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// Lets the process end at this step from now on; the next one is 1.
pub(super) fn count_to(step: u64) {
    LEFT.store(step, Ordering::SeqCst);
}

/// Lets the process go on to its end.
pub(super) fn count_no_more() {
    LEFT.store(0, Ordering::SeqCst);
}

/// Makes a step, which may be the last one.
pub(super) fn step() {
    let count = |left: u64| left.checked_sub(1);
    if LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count) == Ok(1) {
        // Nothing of the program runs after this.
        std::process::abort();
    }
}

/// Makes each call of an offset store a step before and after it, and each statement of a handler one.
pub(super) fn at_calls(plugin: InterceptedPlugin) -> InterceptedPlugin {
    let calls = plugin.offset_stores().on_every_call();
    calls.run(|call, next| async move {
        step();
        let answer = match call {
            OffsetCall::Commit { commit, work } => {
                let work = work.as_ref().and_then(Transaction::take);
                let work = work.map(|work| {
                    SessionWork::new(move |session| {
                        Box::pin(async move {
                            work.run(&mut Stepping(session)).await?;
                            // The next statement is the commit.
                            step();
                            Ok(())
                        })
                    })
                });
                let stored = next.store().commit(commit, work).await;
                stored.map(|()| OffsetAnswer::Done)
            }
            call => next.run(call).await,
        };
        step();
        answer
    });
    plugin
}

/// A session in which each statement is a step.
struct Stepping<'s>(&'s mut dyn Session);

#[async_trait]
impl Session for Stepping<'_> {
    fn database(&self) -> &'static str {
        self.0.database()
    }

    async fn execute_sql(&mut self, sql: Sql, values: Vec<SqlValue>) -> Result<u64, StorageError> {
        step();
        self.0.execute_sql(sql, values).await
    }

    async fn select_sql(
        &mut self,
        sql: Sql,
        values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, StorageError> {
        step();
        self.0.select_sql(sql, values).await
    }
}
