//! An intercepted snapshot store.

use std::sync::Arc;

use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, SnapshotStore, StorageError,
};
use async_trait::async_trait;

use crate::store_kind::{StoreFuture, expect_answer, sealed::Sealed};
use crate::{Hook, Intercepted, StoreCall, StoreKind};

/// The kind of snapshot stores, in types such as [`Rules<SnapshotStores>`](crate::Rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotStores {}

/// A call of a snapshot store: each method of [`SnapshotStore`] with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // the methods and arguments of the same names
pub enum SnapshotCall {
    Initialize,
    Load {
        persistence_id: PersistenceId,
        criteria: SnapshotCriteria,
    },
    Save {
        metadata: SnapshotMetadata,
        payload: Payload,
    },
    Delete {
        metadata: SnapshotMetadata,
    },
    DeleteMatching {
        persistence_id: PersistenceId,
        criteria: SnapshotCriteria,
    },
    Ping,
    Close,
}

/// The answer to a call of a snapshot store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SnapshotAnswer {
    /// The answer of all methods but `load`.
    Done,
    /// The answer of `load`.
    Loaded(Option<SnapshotRecord>),
}

impl StoreCall for SnapshotCall {
    fn operation(&self) -> Operation {
        match self {
            SnapshotCall::Initialize | SnapshotCall::Close => Operation::Initialize,
            SnapshotCall::Load { .. } | SnapshotCall::Ping => Operation::LoadSnapshot,
            SnapshotCall::Save { .. } => Operation::SaveSnapshot,
            SnapshotCall::Delete { .. } => Operation::DeleteSnapshot,
            SnapshotCall::DeleteMatching { .. } => Operation::DeleteMatchingSnapshots,
        }
    }

    fn persistence_ids(&self) -> Vec<&PersistenceId> {
        match self {
            SnapshotCall::Initialize | SnapshotCall::Ping | SnapshotCall::Close => Vec::new(),
            SnapshotCall::Load { persistence_id, .. }
            | SnapshotCall::DeleteMatching { persistence_id, .. } => vec![persistence_id],
            SnapshotCall::Save { metadata, .. } | SnapshotCall::Delete { metadata } => {
                vec![&metadata.persistence_id]
            }
        }
    }

    fn is_ping(&self) -> bool {
        matches!(self, SnapshotCall::Ping)
    }

    fn is_close(&self) -> bool {
        matches!(self, SnapshotCall::Close)
    }
}

impl Sealed for SnapshotStores {}

impl StoreKind for SnapshotStores {
    type Store = dyn SnapshotStore;
    type Call = SnapshotCall;
    type Answer = SnapshotAnswer;
    type Capabilities = SnapshotCapabilities;

    fn carry_out(store: Arc<Self::Store>, call: SnapshotCall) -> StoreFuture<SnapshotAnswer> {
        Box::pin(async move {
            match call {
                SnapshotCall::Load {
                    persistence_id,
                    criteria,
                } => {
                    let loaded = store.load(&persistence_id, criteria).await?;
                    return Ok(SnapshotAnswer::Loaded(loaded));
                }
                SnapshotCall::Initialize => store.initialize().await?,
                SnapshotCall::Save { metadata, payload } => store.save(metadata, payload).await?,
                SnapshotCall::Delete { metadata } => store.delete(&metadata).await?,
                SnapshotCall::DeleteMatching {
                    persistence_id,
                    criteria,
                } => store.delete_matching(&persistence_id, criteria).await?,
                SnapshotCall::Ping => store.ping().await?,
                SnapshotCall::Close => store.close().await,
            }
            Ok(SnapshotAnswer::Done)
        })
    }
}

impl<H: Hook<SnapshotStores>> Intercepted<SnapshotStores, H> {
    async fn done(&self, call: SnapshotCall) -> Result<(), StorageError> {
        expect_answer!(self.call(call).await?, unit SnapshotAnswer::Done);
        Ok(())
    }
}

#[async_trait]
impl<H: Hook<SnapshotStores>> SnapshotStore for Intercepted<SnapshotStores, H> {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.done(SnapshotCall::Initialize).await
    }

    async fn load(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        let call = SnapshotCall::Load {
            persistence_id: persistence_id.clone(),
            criteria,
        };
        Ok(expect_answer!(
            self.call(call).await?,
            SnapshotAnswer::Loaded
        ))
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        self.done(SnapshotCall::Save { metadata, payload }).await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        let metadata = metadata.clone();
        self.done(SnapshotCall::Delete { metadata }).await
    }

    async fn delete_matching(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        self.done(SnapshotCall::DeleteMatching {
            persistence_id: persistence_id.clone(),
            criteria,
        })
        .await
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.done(SnapshotCall::Ping).await
    }

    async fn close(&self) {
        let _ = self.call(SnapshotCall::Close).await;
    }

    fn capabilities(&self) -> SnapshotCapabilities {
        let declared = self.declared.clone();
        declared.unwrap_or_else(|| self.store.capabilities())
    }
}
