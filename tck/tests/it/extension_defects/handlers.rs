//! Defects of calling handlers.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use actix_persistence_storage_api::{
    ChangeHandler, ChangeKind, ExtensionError, PersistenceId, Session, Sql, SqlRow, SqlValue,
    StateChange, StateExtensions, StateUpdate, StorageError,
};
use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::join;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::defect;
use crate::broken_extensions::{Extended, ExtensionDefect};

defect! {
    /// Has no handlers.
    ForgetsHandlers,
    extend(extensions) {
        for entity_type in extensions.entity_types.values_mut() {
            entity_type.change_handler = None;
        }
    }
}

defect! {
    /// Takes an entity type for a pattern of `LIKE`.
    FindsHandlersWithLike,
    extend(extensions) {
        for (name, entity_type) in extensions.entity_types.clone() {
            let like = extensions.entity_type(&name.replace('%', "e"));
            like.change_handler = entity_type.change_handler;
        }
    }
}

defect! {
    /// Calls no handler for a delete.
    LeavesDeletesToThemselves,
    process(handler, session, change) {
        match change.kind {
            ChangeKind::Deleted => Ok(()),
            _ => handler.process(session, change).await,
        }
    }
}

defect! {
    /// Calls no handler for the end of every trace.
    LeavesHardDeletesToThemselves,
    process(handler, session, change) {
        match change.kind {
            ChangeKind::Removed => Ok(()),
            _ => handler.process(session, change).await,
        }
    }
}

/// Calls the handler for a hard delete that found nothing.
pub(crate) struct CallsForNothing;

#[async_trait]
impl ExtensionDefect for CallsForNothing {
    async fn hard_delete(inner: &Extended, id: &PersistenceId) -> Result<bool, StorageError> {
        let removed = inner.store.hard_delete(id).await?;
        if !removed {
            inner.call_handler(id, None).await?;
        }
        Ok(removed)
    }
}

defect! {
    /// Calls the handler before it knows whether the revision is right.
    CallsForWrongRevisions,
    upsert(inner, update) {
        let stored = inner.store.upsert(update.clone()).await;
        if matches!(&stored, Err(error) if error.revision_conflict().is_some()) {
            inner.call_handler(&update.persistence_id.clone(), Some(update)).await?;
        }
        stored
    }
}

/// Sees nothing, as one outside of the transaction.
struct Elsewhere<'s>(&'s mut dyn Session);

#[async_trait]
impl Session for Elsewhere<'_> {
    fn database(&self) -> &'static str {
        self.0.database()
    }

    async fn execute_sql(&mut self, sql: Sql, values: Vec<SqlValue>) -> Result<u64, StorageError> {
        self.0.execute_sql(sql, values).await
    }

    async fn select_sql(
        &mut self,
        _sql: Sql,
        _values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, StorageError> {
        Ok(Vec::new())
    }
}

defect! {
    /// Lets the handler read outside of the transaction.
    ReadsElsewhere,
    process(handler, session, change) {
        handler.process(&mut Elsewhere(session), change).await
    }
}

defect! {
    /// Stores a change whatever its handler says.
    StoresWhatAHandlerRefused,
    process(handler, session, change) {
        let _ = handler.process(session, change).await;
        Ok(())
    }
}

defect! {
    /// Does not say what a handler said.
    KeepsTheReasonsOfHandlers,
    process(handler, session, change) {
        handler.process(session, change).await.map_err(|_| "a handler said no".into())
    }
}

defect! {
    /// Stores a change although its handler panicked.
    StoresAfterAPanic,
    process(handler, session, change) {
        let processed = AssertUnwindSafe(handler.process(session, change)).catch_unwind();
        processed.await.unwrap_or(Ok(()))
    }
}

defect! {
    /// Stores a change although its handler did not end.
    StoresWithoutWaiting,
    process(handler, session, change) {
        match change.revision {
            1 => handler.process(session, change).await,
            _ => timeout(Duration::from_millis(50), handler.process(session, change))
                .await
                .unwrap_or(Ok(())),
        }
    }
}

/// Does nothing, and takes its time for it.
struct Idle;

#[async_trait]
impl Session for Idle {
    fn database(&self) -> &'static str {
        "sqlite"
    }

    async fn execute_sql(
        &mut self,
        _sql: Sql,
        _values: Vec<SqlValue>,
    ) -> Result<u64, StorageError> {
        yield_now().await;
        Ok(1)
    }

    async fn select_sql(
        &mut self,
        _sql: Sql,
        _values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, StorageError> {
        yield_now().await;
        Ok(Vec::new())
    }
}

defect! {
    /// Calls the handler twice at once.
    CallsTwiceAtOnce,
    process(handler, session, change) {
        let (mut idle, again) = (Idle, &change);
        let (first, second) = join(
            handler.process(session, change),
            handler.process(&mut idle, again),
        )
        .await;
        first.and(second)
    }
}
