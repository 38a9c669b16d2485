//! A table that the work of commits changes.

use std::sync::{Arc, Mutex, PoisonError};

use actix_persistence_storage_api::{
    OffsetStore, ProgressCommit, Session, SessionWork, Sql, StateStore, StorageError, WriterId,
};

use crate::failure::{CaseResult, Failure, expect_eq};
use crate::offset_steps::{registered, take};
use crate::subject::Subject;

/// A table with one count, and a projection of its own whose commits look at it.
pub(crate) struct Counts {
    table: String,
}

impl Counts {
    /// Makes the table: in a transaction of the state store in the same database, because the work of a commit cannot where
    /// definitions commit; in a commit if there is no state store.
    pub(crate) async fn make(subject: &Subject<dyn OffsetStore>) -> Result<Self, Failure> {
        let random = WriterId::random().to_string().replace('-', "");
        let counts = Self {
            table: format!("tck_{random}"),
        };
        let create = format!("CREATE TABLE {} (n BIGINT NOT NULL)", counts.table);
        let states = subject.open_states().await.ok();
        match states.as_deref().and_then(StateStore::sql) {
            Some(sql) => {
                states.as_ref().expect("it has SQL").initialize().await?;
                sql.transact(execute(create)).await?;
            }
            None => run(subject.store(), execute(create)).await??,
        }
        let insert = format!("INSERT INTO {} (n) VALUES (0)", counts.table);
        run(subject.store(), execute(insert)).await??;
        Ok(counts)
    }

    /// Adds 1 to the count.
    pub(crate) async fn add(&self, session: &mut dyn Session) -> Result<(), StorageError> {
        let text = format!("UPDATE {} SET n = n + 1", self.table);
        session.execute(Sql::assert_safe(text), []).await?;
        Ok(())
    }

    /// Expects a count.
    pub(crate) async fn expect(&self, store: &dyn OffsetStore, expected: i64) -> CaseResult {
        let text = format!("SELECT n FROM {}", self.table);
        let found = Arc::new(Mutex::new(Vec::new()));
        let out = Arc::clone(&found);
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                let rows = session.select(Sql::assert_safe(text), []).await?;
                let counts = rows.iter().map(|row| row.get::<i64>("n"));
                *out.lock().unwrap_or_else(PoisonError::into_inner) =
                    counts.collect::<Result<_, _>>()?;
                Ok(())
            })
        });
        run(store, work).await??;
        let found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        expect_eq("counts", found, vec![expected])
    }
}

/// Runs a statement.
fn execute(text: String) -> SessionWork {
    SessionWork::new(move |session| {
        Box::pin(async move {
            session.execute(Sql::assert_safe(text), []).await?;
            Ok(())
        })
    })
}

/// Runs work in the commit of a projection that nothing else uses.
async fn run(
    store: &dyn OffsetStore,
    work: SessionWork,
) -> Result<Result<(), StorageError>, Failure> {
    let key = registered(store, 1).await?;
    let taken = take(store, &key, 0, "counts").await?;
    let commit = ProgressCommit::new(taken.claim, taken.progress.clone(), taken.progress);
    Ok(store.commit(commit, Some(work)).await)
}
