//! Finds the snapshot that a recovery starts from.

use std::marker::PhantomData;
use std::sync::Arc;

use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_storage_api::{
    Operation, PersistenceId, SequenceNr, SnapshotCriteria, SnapshotRecord, StorageError,
    StorageErrorKind,
};

use crate::environment::Environment;
use crate::error::error_chain::ErrorChain;
use crate::serializer::{Place, shown};
use crate::snapshots::snapshot::{OfferAnswer, OfferState};
use crate::{Recovery, RecoveryError, Snapshot, SnapshotOffer, schema};

/// Goes from the youngest snapshot that the recovery allows to older ones, until the actor takes one.
///
/// Only where snapshots are optional is there more than one attempt, and after a snapshot whose key was destroyed.
pub(crate) struct SnapshotSearch<S> {
    environment: Arc<Environment>,
    persistence_id: PersistenceId,
    criteria: SnapshotCriteria,
    is_optional: bool,
    /// The number above which no snapshot may be.
    limit: SequenceNr,
    offered: Option<(SequenceNr, OfferAnswer)>,
    /// The reason why the youngest snapshot is not used.
    passed_over: Option<Box<RecoveryError>>,
    snapshot: PhantomData<fn() -> S>,
}

/// The next step of the search.
pub(crate) enum Found<S> {
    /// An offer for the actor; after its answer the search continues.
    Offer(SnapshotOffer<S>),
    /// The search is over.
    Start {
        /// The number of the snapshot the actor took; 0 for none.
        snapshot_sequence_nr: SequenceNr,
        /// The reason why a younger snapshot was not used: then every event after this one is needed.
        instead_of: Option<Box<RecoveryError>>,
    },
}

impl<S: Snapshot> SnapshotSearch<S> {
    /// A search among the snapshots of an id whose journal ends at `highest_sequence_nr`.
    pub(crate) fn new(
        environment: Arc<Environment>,
        persistence_id: PersistenceId,
        recovery: &Recovery,
        highest_sequence_nr: SequenceNr,
    ) -> Self {
        let store = environment.stores.snapshot_store();
        let is_optional = store.is_some_and(|store| store.settings().snapshot_is_optional);
        Self {
            criteria: recovery.snapshot_criteria(),
            is_optional: recovery.snapshot_is_optional.unwrap_or(is_optional),
            limit: if recovery.allow_snapshot_ahead {
                SequenceNr::MAX
            } else {
                highest_sequence_nr
            },
            environment,
            persistence_id,
            offered: None,
            passed_over: None,
            snapshot: PhantomData,
        }
    }

    /// Records the actor's answer to the last offer, if there was one, and finds the next snapshot.
    pub(crate) async fn next(&mut self) -> Result<Found<S>, RecoveryError> {
        if let Some((sequence_nr, answer)) = self.offered.take() {
            match answer.take() {
                OfferState::Taken => return Ok(self.start(sequence_nr)),
                OfferState::Unhandled => {
                    return Err(RecoveryError::SnapshotUnhandled {
                        persistence_id: self.persistence_id.clone(),
                        sequence_nr,
                    });
                }
                OfferState::Refused(reason) => {
                    let error = RecoveryError::SnapshotRefused {
                        persistence_id: self.persistence_id.clone(),
                        sequence_nr,
                        reason,
                    };
                    self.pass_over(Some(sequence_nr), error)?;
                }
            }
        }
        while self.criteria != SnapshotCriteria::NONE {
            let record = match self.load().await {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(error) => {
                    self.pass_over(None, error)?;
                    break;
                }
            };
            let sequence_nr = record.metadata.sequence_nr;
            self.check_limit(sequence_nr)?;
            match self.offer(record) {
                Ok(offer) => {
                    self.offered = Some((sequence_nr, offer.answer()));
                    return Ok(Found::Offer(offer));
                }
                Err(error) => self.pass_over(Some(sequence_nr), error)?,
            }
        }
        Ok(self.start(0))
    }

    fn start(&mut self, snapshot_sequence_nr: SequenceNr) -> Found<S> {
        Found::Start {
            snapshot_sequence_nr,
            instead_of: self.passed_over.take(),
        }
    }

    /// Goes on with what is older, or with no snapshot at all if it is not known which one failed.
    fn pass_over(
        &mut self,
        sequence_nr: Option<SequenceNr>,
        error: RecoveryError,
    ) -> Result<(), RecoveryError> {
        // One that is gone on purpose is no damage: whether it can be done without is for the events to say.
        if !self.is_optional && !error.is_shredded() {
            return Err(error);
        }
        tracing::warn!(
            persistence_id = %self.persistence_id,
            sequence_nr,
            error = %ErrorChain(&error),
            "a snapshot cannot be used and is passed over"
        );
        self.criteria = match sequence_nr.and_then(|nr| nr.checked_sub(1)) {
            Some(older) => self.criteria.limited_to(older),
            None => SnapshotCriteria::NONE,
        };
        self.passed_over.get_or_insert_with(|| Box::new(error));
        Ok(())
    }

    async fn load(&self) -> Result<Option<SnapshotRecord>, RecoveryError> {
        let store = match self.environment.stores.snapshot_store() {
            Some(store) if !S::NEVER => store,
            _ => return Ok(None),
        };
        self.load_from(store)
            .await
            .map_err(|source| RecoveryError::SnapshotStore {
                persistence_id: self.persistence_id.clone(),
                source,
            })
    }

    async fn load_from(
        &self,
        store: &SnapshotHandle,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        let error = |kind, message| {
            StorageError::new(kind, Operation::LoadSnapshot)
                .with_persistence_id(self.persistence_id.clone())
                .with_message(message)
        };
        // As in Akka, the limit of the journal is that of its snapshots too; the store's own may be shorter.
        let limit = self
            .environment
            .stores
            .journal()?
            .settings()
            .recovery_event_timeout;
        let loading = store.load(self.persistence_id.clone(), self.criteria);
        let loaded = tokio::time::timeout(limit, loading).await.map_err(|_| {
            let message =
                format!("no snapshot came within the recovery-event-timeout of {limit:?}");
            error(StorageErrorKind::Timeout, message)
        })??;
        // A store that ignores the criteria would return an unreadable snapshot again and again.
        if let Some(record) = &loaded
            && record.metadata.sequence_nr > self.criteria.max_sequence_nr
        {
            let (nr, max) = (record.metadata.sequence_nr, self.criteria.max_sequence_nr);
            let message = format!("the snapshot at {nr} came, but one up to {max} was asked for");
            return Err(error(StorageErrorKind::Corrupt, message));
        }
        Ok(loaded)
    }

    fn check_limit(&self, sequence_nr: SequenceNr) -> Result<(), RecoveryError> {
        if sequence_nr <= self.limit {
            return Ok(());
        }
        Err(RecoveryError::SnapshotAhead {
            persistence_id: self.persistence_id.clone(),
            sequence_nr,
            highest_sequence_nr: self.limit,
        })
    }

    fn offer(&self, record: SnapshotRecord) -> Result<SnapshotOffer<S>, RecoveryError> {
        let place = Place::of_snapshot(&self.persistence_id, record.metadata.sequence_nr);
        let stored = self.environment.serializers.stored(&record.payload, place);
        match schema::read_snapshot(stored) {
            Ok(snapshot) => Ok(SnapshotOffer::new(record.metadata, snapshot)),
            Err(source) => Err(RecoveryError::Snapshot {
                persistence_id: self.persistence_id.clone(),
                sequence_nr: record.metadata.sequence_nr,
                serializer_id: record.payload.serializer_id,
                manifest: shown(&record.payload.manifest),
                source,
            }),
        }
    }
}
