//! An intercepted offset store.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    OffsetStore, Operation, ParkedId, ParkedItem, PersistenceId, ProgressCommit, ProjectionChange,
    ProjectionKey, ProjectionRecord, Replacement, SessionWork, ShareClaim, Skipped, StorageError,
    TakenShare,
};
use async_trait::async_trait;

use crate::store_kind::{StoreFuture, expect_answer, sealed::Sealed};
use crate::{Hook, Intercepted, StoreCall, StoreKind, Transaction};

/// The kind of offset stores, in types such as [`Rules<OffsetStores>`](crate::Rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetStores {}

/// A call of an offset store: each method of [`OffsetStore`] with its arguments.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // the methods and arguments of the same names
pub enum OffsetCall {
    Initialize,
    Register {
        projection: ProjectionKey,
        shares: u16,
        offset: String,
    },
    Read {
        projection: ProjectionKey,
    },
    Keys,
    Attend {
        projection: ProjectionKey,
        owner: String,
        lease: Duration,
    },
    Leave {
        projection: ProjectionKey,
        owner: String,
    },
    TakeShare {
        projection: ProjectionKey,
        share: u16,
        owner: String,
        lease: Duration,
    },
    ReleaseShare {
        claim: ShareClaim,
    },
    CountAttempt {
        claim: ShareClaim,
    },
    Commit {
        commit: ProgressCommit,
        work: Option<Transaction>,
    },
    Halt {
        claim: ShareClaim,
        reason: String,
    },
    Change {
        projection: ProjectionKey,
        change: ProjectionChange,
    },
    Skipped {
        projection: ProjectionKey,
        limit: usize,
    },
    Parked {
        projection: ProjectionKey,
        slices: RangeInclusive<u16>,
        after: Option<PersistenceId>,
        limit: usize,
    },
    ParkedItems {
        projection: ProjectionKey,
        persistence_id: PersistenceId,
        limit: usize,
    },
    BeginRetry {
        claim: ShareClaim,
        persistence_id: PersistenceId,
    },
    NoteParked {
        claim: ShareClaim,
        persistence_id: PersistenceId,
        reason: String,
    },
    Replace {
        replacement: Replacement,
        work: Option<Transaction>,
    },
    LiveVersion {
        name: String,
    },
    Ping,
    Close,
}

/// The answer to a call of an offset store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OffsetAnswer {
    /// The answer of all methods that return nothing.
    Done,
    /// The answer of `read`.
    Found(Option<ProjectionRecord>),
    /// The answer of `keys`.
    Keys(Vec<ProjectionKey>),
    /// The answer of `attend`.
    Attended(ProjectionRecord),
    /// The answer of `take_share`.
    Taken(TakenShare),
    /// The answer of `count_attempt`.
    Attempts(u32),
    /// The answer of `skipped`.
    Skipped(Vec<Skipped>),
    /// The answer of `parked`.
    Parked(Vec<ParkedId>),
    /// The answer of `parked_items`.
    ParkedItems(Vec<ParkedItem>),
    /// The answer of `begin_retry`.
    Retries(u32),
    /// The answer of `live_version`.
    LiveVersion(Option<u32>),
}

impl OffsetCall {
    /// Returns the projection that the call is about, of a replacement the one that is to be live; `None` if it is about a name or
    /// the whole store.
    pub fn projection(&self) -> Option<&ProjectionKey> {
        match self {
            OffsetCall::Register { projection, .. }
            | OffsetCall::Read { projection }
            | OffsetCall::Attend { projection, .. }
            | OffsetCall::Leave { projection, .. }
            | OffsetCall::TakeShare { projection, .. }
            | OffsetCall::Change { projection, .. }
            | OffsetCall::Skipped { projection, .. }
            | OffsetCall::Parked { projection, .. }
            | OffsetCall::ParkedItems { projection, .. } => Some(projection),
            OffsetCall::Replace { replacement, .. } => Some(&replacement.projection),
            OffsetCall::ReleaseShare { claim }
            | OffsetCall::CountAttempt { claim }
            | OffsetCall::BeginRetry { claim, .. }
            | OffsetCall::NoteParked { claim, .. }
            | OffsetCall::Halt { claim, .. } => Some(&claim.projection),
            OffsetCall::Commit { commit, .. } => Some(&commit.claim.projection),
            OffsetCall::Initialize
            | OffsetCall::Keys
            | OffsetCall::LiveVersion { .. }
            | OffsetCall::Ping
            | OffsetCall::Close => None,
        }
    }
}

impl StoreCall for OffsetCall {
    fn operation(&self) -> Operation {
        match self {
            OffsetCall::Initialize | OffsetCall::Close => Operation::Initialize,
            OffsetCall::Register { .. } => Operation::RegisterProjection,
            OffsetCall::Read { .. }
            | OffsetCall::Keys
            | OffsetCall::Skipped { .. }
            | OffsetCall::Parked { .. }
            | OffsetCall::ParkedItems { .. }
            | OffsetCall::LiveVersion { .. }
            | OffsetCall::Ping => Operation::ReadProjection,
            OffsetCall::Attend { .. } => Operation::AttendProjection,
            OffsetCall::Leave { .. } => Operation::LeaveProjection,
            OffsetCall::TakeShare { .. } => Operation::TakeShare,
            OffsetCall::ReleaseShare { .. } => Operation::ReleaseShare,
            OffsetCall::CountAttempt { .. } => Operation::CountAttempt,
            OffsetCall::Commit { .. } => Operation::CommitProgress,
            OffsetCall::Halt { .. } => Operation::HaltShare,
            OffsetCall::Change { .. } => Operation::ChangeProjection,
            OffsetCall::BeginRetry { .. } => Operation::BeginRetry,
            OffsetCall::NoteParked { .. } => Operation::NoteParked,
            OffsetCall::Replace { .. } => Operation::ReplaceVersion,
        }
    }

    /// The parked id that it is about; otherwise none, because it is about a [projection](Self::projection).
    fn persistence_ids(&self) -> Vec<&PersistenceId> {
        match self {
            OffsetCall::ParkedItems { persistence_id, .. }
            | OffsetCall::BeginRetry { persistence_id, .. }
            | OffsetCall::NoteParked { persistence_id, .. } => vec![persistence_id],
            _ => Vec::new(),
        }
    }

    fn is_ping(&self) -> bool {
        matches!(self, OffsetCall::Ping)
    }

    fn is_close(&self) -> bool {
        matches!(self, OffsetCall::Close)
    }
}

impl Sealed for OffsetStores {}

impl StoreKind for OffsetStores {
    type Store = dyn OffsetStore;
    type Call = OffsetCall;
    type Answer = OffsetAnswer;
    /// True for a store that has transactions.
    type Capabilities = bool;

    fn carry_out(store: Arc<Self::Store>, call: OffsetCall) -> StoreFuture<OffsetAnswer> {
        Box::pin(async move {
            match call {
                OffsetCall::Initialize => store.initialize().await?,
                OffsetCall::Register {
                    projection,
                    shares,
                    offset,
                } => store.register(&projection, shares, &offset).await?,
                OffsetCall::Read { projection } => {
                    return Ok(OffsetAnswer::Found(store.read(&projection).await?));
                }
                OffsetCall::Keys => return Ok(OffsetAnswer::Keys(store.keys().await?)),
                OffsetCall::Attend {
                    projection,
                    owner,
                    lease,
                } => {
                    let record = store.attend(&projection, &owner, lease).await?;
                    return Ok(OffsetAnswer::Attended(record));
                }
                OffsetCall::Leave { projection, owner } => {
                    store.leave(&projection, &owner).await?;
                }
                OffsetCall::TakeShare {
                    projection,
                    share,
                    owner,
                    lease,
                } => {
                    let taken = store.take_share(&projection, share, &owner, lease).await?;
                    return Ok(OffsetAnswer::Taken(taken));
                }
                OffsetCall::ReleaseShare { claim } => store.release_share(&claim).await?,
                OffsetCall::CountAttempt { claim } => {
                    return Ok(OffsetAnswer::Attempts(store.count_attempt(&claim).await?));
                }
                OffsetCall::Commit { commit, work } => {
                    let work = work.as_ref().map(Transaction::take_once);
                    store.commit(commit, work).await?;
                }
                OffsetCall::Halt { claim, reason } => store.halt(&claim, &reason).await?,
                OffsetCall::Change { projection, change } => {
                    store.change(&projection, change).await?;
                }
                OffsetCall::Skipped { projection, limit } => {
                    let skipped = store.skipped(&projection, limit).await?;
                    return Ok(OffsetAnswer::Skipped(skipped));
                }
                OffsetCall::Parked {
                    projection,
                    slices,
                    after,
                    limit,
                } => {
                    let parked = store.parked(&projection, slices, after.as_ref(), limit);
                    return Ok(OffsetAnswer::Parked(parked.await?));
                }
                OffsetCall::ParkedItems {
                    projection,
                    persistence_id,
                    limit,
                } => {
                    let items = store.parked_items(&projection, &persistence_id, limit);
                    return Ok(OffsetAnswer::ParkedItems(items.await?));
                }
                OffsetCall::BeginRetry {
                    claim,
                    persistence_id,
                } => {
                    let retries = store.begin_retry(&claim, &persistence_id).await?;
                    return Ok(OffsetAnswer::Retries(retries));
                }
                OffsetCall::NoteParked {
                    claim,
                    persistence_id,
                    reason,
                } => store.note_parked(&claim, &persistence_id, &reason).await?,
                OffsetCall::Replace { replacement, work } => {
                    let work = work.as_ref().map(Transaction::take_once);
                    store.replace(replacement, work).await?;
                }
                OffsetCall::LiveVersion { name } => {
                    return Ok(OffsetAnswer::LiveVersion(store.live_version(&name).await?));
                }
                OffsetCall::Ping => store.ping().await?,
                OffsetCall::Close => store.close().await,
            }
            Ok(OffsetAnswer::Done)
        })
    }
}

impl<H: Hook<OffsetStores>> Intercepted<OffsetStores, H> {
    async fn done(&self, call: OffsetCall) -> Result<(), StorageError> {
        expect_answer!(self.call(call).await?, unit OffsetAnswer::Done);
        Ok(())
    }
}

#[async_trait]
impl<H: Hook<OffsetStores>> OffsetStore for Intercepted<OffsetStores, H> {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.done(OffsetCall::Initialize).await
    }

    async fn register(
        &self,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError> {
        let (projection, offset) = (projection.clone(), offset.to_owned());
        self.done(OffsetCall::Register {
            projection,
            shares,
            offset,
        })
        .await
    }

    async fn read(
        &self,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError> {
        let projection = projection.clone();
        let answer = self.call(OffsetCall::Read { projection }).await?;
        Ok(expect_answer!(answer, OffsetAnswer::Found))
    }

    async fn keys(&self) -> Result<Vec<ProjectionKey>, StorageError> {
        let answer = self.call(OffsetCall::Keys).await?;
        Ok(expect_answer!(answer, OffsetAnswer::Keys))
    }

    async fn attend(
        &self,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError> {
        let (projection, owner) = (projection.clone(), owner.to_owned());
        let call = OffsetCall::Attend {
            projection,
            owner,
            lease,
        };
        Ok(expect_answer!(
            self.call(call).await?,
            OffsetAnswer::Attended
        ))
    }

    async fn leave(&self, projection: &ProjectionKey, owner: &str) -> Result<(), StorageError> {
        let (projection, owner) = (projection.clone(), owner.to_owned());
        self.done(OffsetCall::Leave { projection, owner }).await
    }

    async fn take_share(
        &self,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        let (projection, owner) = (projection.clone(), owner.to_owned());
        let call = OffsetCall::TakeShare {
            projection,
            share,
            owner,
            lease,
        };
        Ok(expect_answer!(self.call(call).await?, OffsetAnswer::Taken))
    }

    async fn release_share(&self, claim: &ShareClaim) -> Result<(), StorageError> {
        let claim = claim.clone();
        self.done(OffsetCall::ReleaseShare { claim }).await
    }

    async fn count_attempt(&self, claim: &ShareClaim) -> Result<u32, StorageError> {
        let claim = claim.clone();
        let answer = self.call(OffsetCall::CountAttempt { claim }).await?;
        Ok(expect_answer!(answer, OffsetAnswer::Attempts))
    }

    async fn commit(
        &self,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        let work = work.map(Transaction::new);
        self.done(OffsetCall::Commit { commit, work }).await
    }

    async fn halt(&self, claim: &ShareClaim, reason: &str) -> Result<(), StorageError> {
        let (claim, reason) = (claim.clone(), reason.to_owned());
        self.done(OffsetCall::Halt { claim, reason }).await
    }

    async fn change(
        &self,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        let projection = projection.clone();
        self.done(OffsetCall::Change { projection, change }).await
    }

    async fn skipped(
        &self,
        projection: &ProjectionKey,
        limit: usize,
    ) -> Result<Vec<Skipped>, StorageError> {
        let projection = projection.clone();
        let answer = self.call(OffsetCall::Skipped { projection, limit }).await?;
        Ok(expect_answer!(answer, OffsetAnswer::Skipped))
    }

    async fn parked(
        &self,
        projection: &ProjectionKey,
        slices: RangeInclusive<u16>,
        after: Option<&PersistenceId>,
        limit: usize,
    ) -> Result<Vec<ParkedId>, StorageError> {
        let call = OffsetCall::Parked {
            projection: projection.clone(),
            slices,
            after: after.cloned(),
            limit,
        };
        Ok(expect_answer!(self.call(call).await?, OffsetAnswer::Parked))
    }

    async fn parked_items(
        &self,
        projection: &ProjectionKey,
        persistence_id: &PersistenceId,
        limit: usize,
    ) -> Result<Vec<ParkedItem>, StorageError> {
        let call = OffsetCall::ParkedItems {
            projection: projection.clone(),
            persistence_id: persistence_id.clone(),
            limit,
        };
        let answer = self.call(call).await?;
        Ok(expect_answer!(answer, OffsetAnswer::ParkedItems))
    }

    async fn begin_retry(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
    ) -> Result<u32, StorageError> {
        let call = OffsetCall::BeginRetry {
            claim: claim.clone(),
            persistence_id: persistence_id.clone(),
        };
        let answer = self.call(call).await?;
        Ok(expect_answer!(answer, OffsetAnswer::Retries))
    }

    async fn note_parked(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
        reason: &str,
    ) -> Result<(), StorageError> {
        self.done(OffsetCall::NoteParked {
            claim: claim.clone(),
            persistence_id: persistence_id.clone(),
            reason: reason.to_owned(),
        })
        .await
    }

    async fn replace(
        &self,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        let work = work.map(Transaction::new);
        self.done(OffsetCall::Replace { replacement, work }).await
    }

    async fn live_version(&self, name: &str) -> Result<Option<u32>, StorageError> {
        let name = name.to_owned();
        let answer = self.call(OffsetCall::LiveVersion { name }).await?;
        Ok(expect_answer!(answer, OffsetAnswer::LiveVersion))
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.done(OffsetCall::Ping).await
    }

    async fn close(&self) {
        let _ = self.call(OffsetCall::Close).await;
    }

    fn has_transactions(&self) -> bool {
        let declared = self.declared;
        declared.unwrap_or_else(|| self.store.has_transactions())
    }

    fn trouble(&self) -> Option<StorageError> {
        self.store.trouble()
    }
}
