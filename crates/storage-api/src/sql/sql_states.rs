//! The contract of stores whose states can be found by SQL.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::{
    ExtensionError, Operation, PersistenceId, Revision, Session, Sql, SqlValue, StateRecord,
    StorageError, StorageErrorKind,
};

/// The access by SQL to the states of a store and the columns beside them; a [`StateStore`](crate::StateStore) returns
/// it as its [`sql`](crate::StateStore::sql).
#[async_trait]
pub trait SqlStates: Send + Sync {
    /// Returns the states of an entity type for which a condition holds, in the order of the bytes of their ids.
    ///
    /// # Contract
    /// - **D-FIND-1**: The call returns states of the entity type for which the condition holds, skips none of them,
    ///   and returns no tombstone.
    /// - **D-FIND-2**: The call returns at most `limit` states, with ids greater than `after`, and fewer where states
    ///   are large. Only an empty page means that there are no more, unless `limit` is 0.
    /// - **D-FIND-3**: The condition cannot select states that the query excludes: neither an `OR` in it does, nor text
    ///   after a closing parenthesis that the condition did not open, which is an error.
    /// - **D-FIND-4**: A condition with a placeholder that has no value, or with a value that has no placeholder, is an
    ///   error.
    ///
    /// # Errors
    /// The errors of the database, those of the condition among them; [`Extension`](crate::StorageErrorKind::Extension)
    /// for a mistake in the values; [`Corrupt`](crate::StorageErrorKind::Corrupt) if a state cannot be read.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn find(&self, query: FindStates) -> Result<Vec<FoundState>, StorageError>;

    /// Runs code in a transaction of its own, which is committed if that succeeds; `transact_returning` of
    /// `dyn SqlStates` returns a value of the code as well.
    ///
    /// # Contract
    /// - **D-TRANSACT-1**: What the code did is stored if the code succeeds, and not at all otherwise. The one exception is a
    ///   statement that commits by itself, as those that define tables do on MySQL: what came before it stays, and if the
    ///   code fails afterwards the effect is unknown.
    /// - **D-TRANSACT-2**: After a statement has failed nothing is stored, even if the code goes on and succeeds.
    ///
    /// # Errors
    /// [`Extension`](crate::StorageErrorKind::Extension) if the code fails, panics, or takes longer than a
    /// [`ChangeHandler`](crate::ChangeHandler) may; [`Busy`](crate::StorageErrorKind::Busy) if other work takes all the
    /// connections for such code; or the errors of the database. Then nothing of it is stored, unless the effect is
    /// unknown, as after statements that define tables on MySQL and MariaDB, which commit everything before them.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    async fn transact(&self, work: SessionWork) -> Result<(), StorageError>;
}

impl dyn SqlStates + '_ {
    /// Runs code in a transaction of its own, and returns what the code returned, once that is committed.
    ///
    /// # Errors
    /// As [`transact`](SqlStates::transact). What the code returned is dropped then.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub async fn transact_returning<T: Send + 'static>(
        &self,
        work: SessionWork<T>,
    ) -> Result<T, StorageError> {
        let value = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&value);
        let work = SessionWork::new(move |session| {
            let running = work.run(session);
            Box::pin(async move {
                let value = running.await?;
                *lock(&kept) = Some(value);
                Ok(())
            })
        });
        self.transact(work).await?;
        let value = lock(&value).take();
        value.ok_or_else(|| {
            StorageError::new(StorageErrorKind::Backend, Operation::Transact)
                .with_message("the store reports a success without having run the code")
        })
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A piece of code that runs once in a transaction, and returns a value of the type `T`.
///
/// ```
/// use actix_persistence_storage_api::SessionWork;
///
/// let author = "ada".to_owned();
/// let work = SessionWork::new(move |session| {
///     Box::pin(async move {
///         session.execute("DELETE FROM drafts WHERE author = $1", [author.into()]).await?;
///         Ok(())
///     })
/// });
/// # drop(work);
/// ```
pub struct SessionWork<T = ()>(Box<Run<T>>);

type Run<T> = dyn for<'s> FnOnce(&'s mut dyn Session) -> SessionFuture<'s, T> + Send;

impl<T> SessionWork<T> {
    /// Makes it from code. A closure that is written in the call gets the types it needs.
    pub fn new(
        work: impl for<'s> FnOnce(&'s mut dyn Session) -> SessionFuture<'s, T> + Send + 'static,
    ) -> Self {
        Self(Box::new(work))
    }

    /// Starts the code in a session. Stores call this.
    pub fn run<'s>(self, session: &'s mut dyn Session) -> SessionFuture<'s, T> {
        (self.0)(session)
    }
}

impl<T> fmt::Debug for SessionWork<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionWork").finish_non_exhaustive()
    }
}

/// The future of the code that runs in a session.
pub type SessionFuture<'s, T = ()> =
    Pin<Box<dyn Future<Output = Result<T, ExtensionError>> + Send + 's>>;

/// A query for states by SQL.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FindStates {
    /// The entity type, exactly as it is written.
    pub entity_type: Arc<str>,
    /// The condition: anything that may follow `WHERE`, over the columns of the table of that entity type.
    pub condition: Sql,
    /// The values of the condition.
    pub values: Vec<SqlValue>,
    /// The id above which ids are returned, byte by byte: the last one of the page before.
    pub after: Option<PersistenceId>,
    /// The most states of a page.
    pub limit: usize,
}

impl FindStates {
    /// Makes the query for the first page of states for which the condition holds.
    pub fn new(
        entity_type: impl Into<Arc<str>>,
        condition: impl Into<Sql>,
        values: impl IntoIterator<Item = SqlValue>,
        limit: usize,
    ) -> Self {
        Self {
            entity_type: entity_type.into(),
            condition: condition.into(),
            values: values.into_iter().collect(),
            after: None,
            limit,
        }
    }

    /// Returns the query for the page after this id.
    #[must_use]
    pub fn after(mut self, persistence_id: PersistenceId) -> Self {
        self.after = Some(persistence_id);
        self
    }
}

/// A state that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundState {
    /// The persistence id of the state.
    pub persistence_id: PersistenceId,
    /// The revision of the state.
    pub revision: Revision,
    /// The state.
    pub state: StateRecord,
}

impl FoundState {
    /// Makes a found state from its parts.
    pub fn new(persistence_id: PersistenceId, revision: Revision, state: StateRecord) -> Self {
        Self {
            persistence_id,
            revision,
            state,
        }
    }
}

/// Fails to compile when [`SqlStates`] is no longer object safe.
const _: Option<&dyn SqlStates> = None;
