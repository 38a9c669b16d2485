//! The steps that bring an actor back, as far as they do not touch it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use actix_persistence_journal_actor::RecoveryPermit;
use actix_persistence_storage_api::{
    PersistenceId, Recovered, ReplayRange, SequenceNr, SnapshotCriteria, SnapshotRecord,
    StorageError, WriterId,
};

use crate::environment::Environment;
use crate::recovery::event_pages::{EventPages, NumberedEvent};
use crate::serializer::{Manifest, decode};
use crate::{Event, Recovery, RecoveryError, Snapshot, SnapshotOffer};

/// What the next step brings to the actor.
pub(crate) enum RecoveryStep<E, S> {
    /// The id is ours: nothing an earlier incarnation sent can be stored any more.
    TakenOver(Recovered),
    /// The state to start from.
    Snapshot(SnapshotOffer<S>),
    /// Events to apply, in order.
    Events(Vec<NumberedEvent<E>>),
    /// Everything asked for was given. Holds the recovery permit: to be kept until the actor has taken note.
    Completed(Option<RecoveryPermit>),
}

/// One recovery: asks for the permit, takes the id over, and fetches snapshot and events.
///
/// A read-only replay leaves out the first two and raises no epoch.
pub(crate) struct RecoveryProcess<E, S> {
    environment: Arc<Environment>,
    persistence_id: PersistenceId,
    recovery: Recovery,
    permit: Option<RecoveryPermit>,
    stage: Stage<E>,
    snapshot: std::marker::PhantomData<fn() -> S>,
}

enum Stage<E> {
    /// To be started with the right to write.
    TakeOver(WriterId),
    /// To be started without.
    ReadHighest,
    Snapshot {
        highest: SequenceNr,
    },
    Events(Box<EventPages<E>>),
    Completed,
}

impl<E: Event, S: Snapshot> RecoveryProcess<E, S> {
    /// The recovery of an actor that will write.
    pub(crate) fn for_writer(
        environment: Arc<Environment>,
        persistence_id: PersistenceId,
        recovery: Recovery,
        writer: WriterId,
    ) -> Self {
        Self::starting(
            environment,
            persistence_id,
            recovery,
            Stage::TakeOver(writer),
        )
    }

    /// A replay that only reads.
    pub(crate) fn for_reader(
        environment: Arc<Environment>,
        persistence_id: PersistenceId,
        recovery: Recovery,
    ) -> Self {
        Self::starting(environment, persistence_id, recovery, Stage::ReadHighest)
    }

    fn starting(
        environment: Arc<Environment>,
        persistence_id: PersistenceId,
        recovery: Recovery,
        stage: Stage<E>,
    ) -> Self {
        Self {
            environment,
            persistence_id,
            recovery,
            permit: None,
            stage,
            snapshot: std::marker::PhantomData,
        }
    }

    /// Fetches the next step; after `Completed` there is none.
    pub(crate) async fn next(&mut self) -> Result<RecoveryStep<E, S>, RecoveryError> {
        loop {
            match &mut self.stage {
                Stage::TakeOver(writer) => {
                    let writer = *writer;
                    let recovered = self.take_over(writer).await?;
                    self.stage = Stage::Snapshot {
                        highest: recovered.highest_sequence_nr,
                    };
                    return Ok(RecoveryStep::TakenOver(recovered));
                }
                Stage::ReadHighest => {
                    let journal = &self.environment.journal;
                    let highest = journal
                        .read_highest_sequence_nr(self.persistence_id.clone(), 0)
                        .await
                        .map_err(|source| self.journal_error(source))?;
                    self.stage = Stage::Snapshot { highest };
                }
                Stage::Snapshot { highest } => {
                    let highest = *highest;
                    let record = self.load_snapshot().await?;
                    let start = record.as_ref().map_or(0, |r| r.metadata.sequence_nr);
                    self.stage = Stage::Events(Box::new(self.pages(start, highest)));
                    if let Some(record) = record {
                        return self.offer(record, highest).map(RecoveryStep::Snapshot);
                    }
                }
                Stage::Events(pages) => {
                    let events = pages.next_page().await?;
                    if !events.is_empty() {
                        return Ok(RecoveryStep::Events(events));
                    }
                    self.stage = Stage::Completed;
                }
                Stage::Completed => return Ok(RecoveryStep::Completed(self.permit.take())),
            }
        }
    }

    async fn take_over(&mut self, writer: WriterId) -> Result<Recovered, RecoveryError> {
        let journal = &self.environment.journal;
        let permit = journal.recovery_permit().await;
        let permit = permit.map_err(|source| self.journal_error(source))?;
        let recovered = journal.recover(self.persistence_id.clone(), writer).await;
        self.permit = Some(permit);
        recovered.map_err(|source| self.journal_error(source))
    }

    async fn load_snapshot(&self) -> Result<Option<SnapshotRecord>, RecoveryError> {
        let Some(store) = &self.environment.snapshot_store else {
            return Ok(None);
        };
        let criteria = self
            .recovery
            .from_snapshot
            .limited_to(self.recovery.to_sequence_nr);
        if S::NEVER || criteria == SnapshotCriteria::NONE {
            return Ok(None);
        }
        store
            .load(self.persistence_id.clone(), criteria)
            .await
            .map_err(|source| RecoveryError::SnapshotStore {
                persistence_id: self.persistence_id.clone(),
                source,
            })
    }

    fn offer(
        &self,
        record: SnapshotRecord,
        highest_sequence_nr: SequenceNr,
    ) -> Result<SnapshotOffer<S>, RecoveryError> {
        let sequence_nr = record.metadata.sequence_nr;
        if sequence_nr > highest_sequence_nr && !self.recovery.allow_snapshot_ahead {
            return Err(RecoveryError::SnapshotAhead {
                persistence_id: self.persistence_id.clone(),
                sequence_nr,
                highest_sequence_nr,
            });
        }
        let manifest = Manifest::new(S::MANIFEST, S::VERSION);
        let limit = self.environment.max_snapshot_bytes();
        let snapshot = decode(&record.payload, &manifest, limit).map_err(|source| {
            RecoveryError::Snapshot {
                persistence_id: self.persistence_id.clone(),
                sequence_nr,
                serializer_id: record.payload.serializer_id,
                manifest: record.payload.manifest.to_string(),
                source,
            }
        })?;
        Ok(SnapshotOffer {
            metadata: record.metadata,
            snapshot,
            refused: Rc::new(Cell::new(false)),
        })
    }

    fn pages(&self, start: SequenceNr, highest: SequenceNr) -> EventPages<E> {
        let to = self.recovery.to_sequence_nr.min(highest);
        EventPages::new(
            &self.environment,
            self.persistence_id.clone(),
            ReplayRange::new(start.saturating_add(1), to),
            self.recovery.replay_max,
        )
    }

    fn journal_error(&self, source: StorageError) -> RecoveryError {
        RecoveryError::Journal {
            persistence_id: self.persistence_id.clone(),
            source,
        }
    }
}
