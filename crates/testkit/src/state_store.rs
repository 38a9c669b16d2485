//! An intercepted state store, with its queries and its SQL.

use std::sync::Arc;

use actix_persistence_storage_api::{
    CurrentState, FindStates, FoundState, LastChange, Operation, PersistenceId,
    PersistenceIdsQuery, SessionWork, SqlStates, StateCapabilities, StateChangesPage,
    StateChangesQuery, StateDelete, StateQueries, StateStore, StateUpdate, StateWrite,
    StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use crate::store_kind::{StoreFuture, expect_answer, sealed::Sealed};
use crate::{Hook, Intercepted, StoreCall, StoreKind, Transaction};

/// The kind of state stores, in types such as [`Rules<StateStores>`](crate::Rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateStores {}

/// A call of a state store: each method of [`StateStore`], [`StateQueries`] and [`SqlStates`] with its arguments.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // the methods and arguments of the same names
pub enum StateCall {
    Initialize,
    Get {
        persistence_id: PersistenceId,
    },
    Upsert {
        update: StateUpdate,
    },
    Delete {
        delete: StateDelete,
    },
    /// The call of a group. It is made only of a store that declares groups, by
    /// [`with_capabilities`](crate::Intercepted::with_capabilities): other stores are asked for each change alone, so
    /// that rules see it.
    WriteGroup {
        changes: Vec<StateWrite>,
    },
    HardDelete {
        persistence_id: PersistenceId,
    },
    CurrentPersistenceIds {
        query: PersistenceIdsQuery,
    },
    Changes {
        query: StateChangesQuery,
    },
    LastChange {
        persistence_id: PersistenceId,
    },
    Find {
        query: FindStates,
    },
    Transact {
        work: Transaction,
    },
    Ping,
    Close,
}

/// The answer to a call of a state store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StateAnswer {
    /// The answer of `initialize`, `upsert`, `delete`, `transact`, `ping` and `close`.
    Done,
    /// The answer of `get`.
    Current(CurrentState),
    /// The answer of `write_group`: an outcome for each change.
    Outcomes(Vec<Result<(), StorageError>>),
    /// The answer of `hard_delete`: true if there was a state or a tombstone.
    Removed(bool),
    /// The answer of `current_persistence_ids`.
    Ids(Vec<PersistenceId>),
    /// The answer of `changes`.
    Changes(StateChangesPage),
    /// The answer of `last_change`.
    LastChange(Option<LastChange>),
    /// The answer of `find`.
    Found(Vec<FoundState>),
}

impl StoreCall for StateCall {
    fn operation(&self) -> Operation {
        match self {
            StateCall::Initialize | StateCall::Close => Operation::Initialize,
            StateCall::Get { .. } | StateCall::Ping => Operation::GetState,
            StateCall::Upsert { .. } | StateCall::WriteGroup { .. } => Operation::UpsertState,
            StateCall::Delete { .. } => Operation::DeleteState,
            StateCall::HardDelete { .. } => Operation::HardDeleteState,
            StateCall::CurrentPersistenceIds { .. } => Operation::CurrentPersistenceIds,
            StateCall::Changes { .. } | StateCall::LastChange { .. } => Operation::StateChanges,
            StateCall::Find { .. } => Operation::FindStates,
            StateCall::Transact { .. } => Operation::Transact,
        }
    }

    fn persistence_ids(&self) -> Vec<&PersistenceId> {
        match self {
            StateCall::Get { persistence_id }
            | StateCall::HardDelete { persistence_id }
            | StateCall::LastChange { persistence_id } => vec![persistence_id],
            StateCall::Upsert { update } => vec![&update.persistence_id],
            StateCall::Delete { delete } => vec![&delete.persistence_id],
            StateCall::WriteGroup { changes } => {
                changes.iter().map(StateWrite::persistence_id).collect()
            }
            _ => Vec::new(),
        }
    }

    fn is_ping(&self) -> bool {
        matches!(self, StateCall::Ping)
    }

    fn is_close(&self) -> bool {
        matches!(self, StateCall::Close)
    }
}

impl Sealed for StateStores {}

impl StoreKind for StateStores {
    type Store = dyn StateStore;
    type Call = StateCall;
    type Answer = StateAnswer;
    type Capabilities = StateCapabilities;

    fn carry_out(store: Arc<Self::Store>, call: StateCall) -> StoreFuture<StateAnswer> {
        let unsupported = StorageError::new(StorageErrorKind::Unsupported, call.operation());
        Box::pin(async move {
            let queries = || store.queries().ok_or_else(|| unsupported.clone());
            let sql = || store.sql().ok_or_else(|| unsupported.clone());
            Ok(match call {
                StateCall::Initialize => {
                    store.initialize().await?;
                    StateAnswer::Done
                }
                StateCall::Get { persistence_id } => {
                    StateAnswer::Current(store.get(&persistence_id).await?)
                }
                StateCall::Upsert { update } => {
                    store.upsert(update).await?;
                    StateAnswer::Done
                }
                StateCall::Delete { delete } => {
                    store.delete(delete).await?;
                    StateAnswer::Done
                }
                StateCall::WriteGroup { changes } => {
                    StateAnswer::Outcomes(store.write_group(changes).await?)
                }
                StateCall::HardDelete { persistence_id } => {
                    StateAnswer::Removed(store.hard_delete(&persistence_id).await?)
                }
                StateCall::CurrentPersistenceIds { query } => {
                    StateAnswer::Ids(queries()?.current_persistence_ids(query).await?)
                }
                StateCall::Changes { query } => {
                    StateAnswer::Changes(queries()?.changes(query).await?)
                }
                StateCall::LastChange { persistence_id } => {
                    StateAnswer::LastChange(queries()?.last_change(&persistence_id).await?)
                }
                StateCall::Find { query } => StateAnswer::Found(sql()?.find(query).await?),
                StateCall::Transact { work } => {
                    sql()?.transact(work.take_once()).await?;
                    StateAnswer::Done
                }
                StateCall::Ping => {
                    store.ping().await?;
                    StateAnswer::Done
                }
                StateCall::Close => {
                    store.close().await;
                    StateAnswer::Done
                }
            })
        })
    }
}

impl<H: Hook<StateStores>> Intercepted<StateStores, H> {
    async fn done(&self, call: StateCall) -> Result<(), StorageError> {
        expect_answer!(self.call(call).await?, unit StateAnswer::Done);
        Ok(())
    }
}

#[async_trait]
impl<H: Hook<StateStores>> StateStore for Intercepted<StateStores, H> {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.done(StateCall::Initialize).await
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        let persistence_id = persistence_id.clone();
        let answer = self.call(StateCall::Get { persistence_id }).await?;
        Ok(expect_answer!(answer, StateAnswer::Current))
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        self.done(StateCall::Upsert { update }).await
    }

    async fn delete(&self, delete: StateDelete) -> Result<(), StorageError> {
        self.done(StateCall::Delete { delete }).await
    }

    async fn write_group(
        &self,
        changes: Vec<StateWrite>,
    ) -> Result<Vec<Result<(), StorageError>>, StorageError> {
        let answer = self.call(StateCall::WriteGroup { changes }).await?;
        Ok(expect_answer!(answer, StateAnswer::Outcomes))
    }

    fn goes_alone(&self, change: &StateWrite) -> bool {
        self.store.goes_alone(change)
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        let persistence_id = persistence_id.clone();
        let answer = self.call(StateCall::HardDelete { persistence_id }).await?;
        Ok(expect_answer!(answer, StateAnswer::Removed))
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.done(StateCall::Ping).await
    }

    async fn close(&self) {
        let _ = self.call(StateCall::Close).await;
    }

    fn capabilities(&self) -> StateCapabilities {
        let declared = self.declared.clone();
        declared.unwrap_or_else(|| self.store.capabilities().without_groups())
    }

    fn queries(&self) -> Option<&dyn StateQueries> {
        let has_queries = !self.hides_queries && self.store.queries().is_some();
        has_queries.then_some(self as &dyn StateQueries)
    }

    fn sql(&self) -> Option<&dyn SqlStates> {
        self.store.sql().map(|_| self as &dyn SqlStates)
    }
}

#[async_trait]
impl<H: Hook<StateStores>> StateQueries for Intercepted<StateStores, H> {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let answer = self
            .call(StateCall::CurrentPersistenceIds { query })
            .await?;
        Ok(expect_answer!(answer, StateAnswer::Ids))
    }

    async fn changes(&self, query: StateChangesQuery) -> Result<StateChangesPage, StorageError> {
        let answer = self.call(StateCall::Changes { query }).await?;
        Ok(expect_answer!(answer, StateAnswer::Changes))
    }

    async fn last_change(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<Option<LastChange>, StorageError> {
        let persistence_id = persistence_id.clone();
        let answer = self.call(StateCall::LastChange { persistence_id }).await?;
        Ok(expect_answer!(answer, StateAnswer::LastChange))
    }
}

#[async_trait]
impl<H: Hook<StateStores>> SqlStates for Intercepted<StateStores, H> {
    async fn find(&self, query: FindStates) -> Result<Vec<FoundState>, StorageError> {
        let answer = self.call(StateCall::Find { query }).await?;
        Ok(expect_answer!(answer, StateAnswer::Found))
    }

    async fn transact(&self, work: SessionWork) -> Result<(), StorageError> {
        let work = Transaction::new(work);
        self.done(StateCall::Transact { work }).await
    }
}
