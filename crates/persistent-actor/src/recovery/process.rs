//! The steps that bring an actor back, as far as they do not touch it.

use std::sync::Arc;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_storage_api::{
    Operation, PersistenceId, Recovered, ReplayRange, Revision, SequenceNr, StorageError, WriterId,
};
use actix_persistence_store_actor::RecoveryPermit;

use crate::environment::Environment;
use crate::patience::{self, in_time};
use crate::recovery::current_state::{current_state, store_failed};
use crate::recovery::event_pages::{EventPages, NumberedEvent};
use crate::recovery::snapshot_search::{Found, SnapshotSearch};
use crate::stored_as::ReadState;
use crate::{Event, Recovery, RecoveryError, Snapshot, SnapshotOffer};

/// What the next step brings to the actor.
pub(crate) enum RecoveryStep<E, S> {
    /// The id is ours: nothing an earlier incarnation sent can be stored any more.
    TakenOver(Recovered),
    /// The state to start from.
    Snapshot(SnapshotOffer<S>),
    /// The current state, all there is; none after a delete.
    State {
        revision: Revision,
        state: Option<E>,
    },
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
    stage: Stage<E, S>,
}

enum Stage<E, S> {
    /// To be started with the right to write.
    TakeOver(WriterId),
    /// To be started without.
    ReadHighest,
    /// To be started for an actor that keeps no events, with the right to write or without.
    ReadState {
        read: ReadState<E>,
        writes: bool,
    },
    Snapshot {
        search: Box<SnapshotSearch<S>>,
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

    /// The recovery of an actor whose current state is stored, or the look at it that does not write.
    pub(crate) fn of_state(
        environment: Arc<Environment>,
        persistence_id: PersistenceId,
        read: ReadState<E>,
        writes: bool,
    ) -> Self {
        let stage = Stage::ReadState { read, writes };
        Self::starting(environment, persistence_id, Recovery::default(), stage)
    }

    fn starting(
        environment: Arc<Environment>,
        persistence_id: PersistenceId,
        recovery: Recovery,
        stage: Stage<E, S>,
    ) -> Self {
        Self {
            environment,
            persistence_id,
            recovery,
            permit: None,
            stage,
        }
    }

    /// Fetches the next step; after `Completed` there is none.
    pub(crate) async fn next(&mut self) -> Result<RecoveryStep<E, S>, RecoveryError> {
        loop {
            match &mut self.stage {
                Stage::TakeOver(writer) => {
                    let writer = *writer;
                    let recovered = self.take_over(writer).await?;
                    self.stage = self.search(recovered.highest_sequence_nr);
                    return Ok(RecoveryStep::TakenOver(recovered));
                }
                &mut Stage::ReadState { read, writes } => {
                    if writes {
                        self.permit = Some(self.permit_of_state_store().await?);
                    }
                    let (environment, id) = (&self.environment, &self.persistence_id);
                    let (revision, state) = current_state(environment, id, read).await?;
                    self.stage = Stage::Completed;
                    return Ok(RecoveryStep::State { revision, state });
                }
                Stage::ReadHighest => {
                    let (journal, id) = (self.journal()?, self.persistence_id.clone());
                    let reading = journal.read_highest_sequence_nr(id.clone(), 0);
                    let limit = patience::for_reading(journal);
                    let highest = in_time(Operation::ReadHighestSequenceNr, id, limit, reading)
                        .await
                        .map_err(|source| self.journal_error(source))?;
                    self.stage = self.search(highest);
                }
                Stage::Snapshot { search, highest } => {
                    let highest = *highest;
                    match search.next().await? {
                        Found::Offer(offer) => return Ok(RecoveryStep::Snapshot(offer)),
                        Found::Start {
                            snapshot_sequence_nr,
                            instead_of,
                        } => {
                            let range = self.recovery.events_after(snapshot_sequence_nr, highest);
                            let pages = self.pages(range)?.instead_of_snapshot(instead_of);
                            self.stage = Stage::Events(Box::new(pages));
                        }
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

    async fn permit_of_state_store(&self) -> Result<RecoveryPermit, RecoveryError> {
        let failed = |source| store_failed(&self.persistence_id, source);
        let store = self.environment.stores.state_store().map_err(failed)?;
        store.recovery_permit().await.map_err(failed)
    }

    fn journal(&self) -> Result<&JournalHandle, RecoveryError> {
        let journal = self.environment.stores.journal();
        journal.map_err(|source| self.journal_error(source))
    }

    async fn take_over(&mut self, writer: WriterId) -> Result<Recovered, RecoveryError> {
        let journal = self.journal()?;
        let permit = journal.recovery_permit().await;
        let permit = permit.map_err(|source| self.journal_error(source))?;
        let (limit, id) = (patience::for_reading(journal), self.persistence_id.clone());
        let recovering = journal.recover(id.clone(), writer);
        let recovered = in_time(Operation::Recover, id, limit, recovering).await;
        self.permit = Some(permit);
        recovered.map_err(|source| self.journal_error(source))
    }

    fn search(&self, highest: SequenceNr) -> Stage<E, S> {
        let search = SnapshotSearch::new(
            Arc::clone(&self.environment),
            self.persistence_id.clone(),
            &self.recovery,
            highest,
        );
        Stage::Snapshot {
            search: Box::new(search),
            highest,
        }
    }

    fn pages(&self, range: ReplayRange) -> Result<EventPages<E>, RecoveryError> {
        EventPages::new(
            &self.environment,
            self.persistence_id.clone(),
            range,
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
