//! The steps that bring an actor back, as far as they do not touch it.

use std::sync::Arc;

use actix_persistence_journal_actor::Standing;
use actix_persistence_storage_api::{PersistenceId, Revision, SequenceNr, WriterId};
use actix_persistence_store_actor::RecoveryPermit;

use crate::actor::stored_as::ReadState;
use crate::environment::Environment;
use crate::recovery::current_state::current_state;
use crate::recovery::decoded_pages::DecodedPages;
use crate::recovery::event_pages::EventPages;
use crate::recovery::snapshot_search::{Found, SnapshotSearch};
use crate::recovery::standing;
use crate::{DecodedEvent, Event, Recovery, RecoveryError, Snapshot, SnapshotOffer, TakeOver};

/// The result of one step of a recovery, for the actor.
pub(crate) enum RecoveryStep<E, S> {
    /// The head of the stream; nothing that an earlier incarnation of this process sent is stored after that.
    Begun(Standing),
    /// The state to start from.
    Snapshot(SnapshotOffer<S>),
    /// The current state, all there is; none after a delete.
    State {
        revision: Revision,
        state: Option<E>,
    },
    /// Events to apply, in order.
    Events(Vec<DecodedEvent<E>>),
    /// The end: everything asked for was delivered. Holds the recovery permit, to be kept until the actor has applied
    /// it.
    Completed(Option<RecoveryPermit>),
}

/// A recovery: asks for the permit, finds out where the id stands, and fetches snapshot and events.
///
/// The recovery never passes over what is deleted meanwhile: see [`EventPages`]. A read-only replay asks for no permit.
pub(crate) struct RecoveryProcess<E, S> {
    environment: Arc<Environment>,
    persistence_id: PersistenceId,
    recovery: Recovery,
    permit: Option<RecoveryPermit>,
    /// The writer of an actor that takes its id over before it is recovered.
    takes_over_first: Option<WriterId>,
    stage: Stage<E, S>,
}

enum Stage<E, S> {
    /// The first stage for an actor that will write.
    Begin(WriterId, TakeOver),
    /// The first stage for a replay that only reads.
    ReadHead,
    /// The first stage for an actor that keeps no events, with the right to write or without.
    ReadState {
        read: ReadState<E>,
        writes: bool,
    },
    Snapshot {
        search: Box<SnapshotSearch<S>>,
        standing: Standing,
    },
    Events(Box<DecodedPages<E>>),
    Completed,
}

impl<E: Event, S: Snapshot> RecoveryProcess<E, S> {
    /// The recovery of an actor that will write.
    pub(crate) fn for_writer(
        environment: Arc<Environment>,
        persistence_id: PersistenceId,
        recovery: Recovery,
        writer: WriterId,
        take_over: TakeOver,
    ) -> Self {
        let stage = Stage::Begin(writer, take_over);
        Self::starting(environment, persistence_id, recovery, stage)
    }

    /// A replay that only reads.
    pub(crate) fn for_reader(
        environment: Arc<Environment>,
        persistence_id: PersistenceId,
        recovery: Recovery,
    ) -> Self {
        Self::starting(environment, persistence_id, recovery, Stage::ReadHead)
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
            takes_over_first: None,
            stage,
        }
    }

    /// Fetches the next step; after `Completed` there is none.
    pub(crate) async fn next(&mut self) -> Result<RecoveryStep<E, S>, RecoveryError> {
        loop {
            self.go_on_in_turn().await?;
            match &mut self.stage {
                &mut Stage::Begin(writer, take_over) => {
                    let (permit, standing) =
                        standing::begin(&self.environment, &self.persistence_id, writer, take_over)
                            .await?;
                    self.permit = Some(permit);
                    self.takes_over_first = match take_over {
                        TakeOver::BeforeRecovery => Some(writer),
                        TakeOver::WithFirstWrite => None,
                    };
                    self.stage = self.search(standing);
                    return Ok(RecoveryStep::Begun(standing));
                }
                &mut Stage::ReadState { read, writes } => {
                    if writes {
                        let id = &self.persistence_id;
                        let permit = standing::permit_of_state_store(&self.environment, id).await?;
                        self.permit = Some(permit);
                    }
                    let (environment, id) = (&self.environment, &self.persistence_id);
                    let (revision, state) = current_state(environment, id, read).await?;
                    self.stage = Stage::Completed;
                    return Ok(RecoveryStep::State { revision, state });
                }
                Stage::ReadHead => {
                    let standing = standing::read(&self.environment, &self.persistence_id).await?;
                    self.stage = self.search(standing);
                    return Ok(RecoveryStep::Begun(standing));
                }
                Stage::Snapshot { search, standing } => {
                    let standing = *standing;
                    match search.next().await {
                        Ok(Found::Offer(offer)) => return Ok(RecoveryStep::Snapshot(offer)),
                        Ok(Found::Start {
                            snapshot_sequence_nr,
                            instead_of,
                        }) => {
                            let pages = self.pages(snapshot_sequence_nr, instead_of, standing)?;
                            self.stage = Stage::Events(Box::new(pages));
                        }
                        Err(error) => {
                            let id = &self.persistence_id;
                            let standing = standing::moved_on(&self.environment, id, error).await?;
                            if let Some(writer) = self.takes_over_first {
                                // Others have taken over since, and the actor that asked for it is to be the one
                                // writer.
                                self.permit = None;
                                self.stage = Stage::Begin(writer, TakeOver::BeforeRecovery);
                                continue;
                            }
                            self.stage = self.search(standing);
                            return Ok(RecoveryStep::Begun(standing));
                        }
                    }
                }
                Stage::Events(pages) => {
                    let events = pages.next_portion().await?;
                    if !events.is_empty() {
                        return Ok(RecoveryStep::Events(events));
                    }
                    self.stage = Stage::Completed;
                }
                Stage::Completed => return Ok(RecoveryStep::Completed(self.permit.take())),
            }
        }
    }

    /// Waits for another turn, if this one was lost because the arbiter was blocked.
    async fn go_on_in_turn(&mut self) -> Result<(), RecoveryError> {
        let reads = matches!(self.stage, Stage::Snapshot { .. } | Stage::Events(_));
        if reads && self.permit.as_ref().is_some_and(RecoveryPermit::is_lost) {
            self.permit = None;
            let permit = standing::permit(&self.environment, &self.persistence_id).await?;
            self.permit = Some(permit);
        }
        Ok(())
    }

    fn search(&self, standing: Standing) -> Stage<E, S> {
        let search = SnapshotSearch::new(
            Arc::clone(&self.environment),
            self.persistence_id.clone(),
            &self.recovery,
            standing.highest_sequence_nr,
        );
        Stage::Snapshot {
            search: Box::new(search),
            standing,
        }
    }

    /// Returns the events after a snapshot, 0 for none, and all of them if a younger one cannot be used.
    fn pages(
        &self,
        snapshot_sequence_nr: SequenceNr,
        instead_of: Option<Box<RecoveryError>>,
        standing: Standing,
    ) -> Result<DecodedPages<E>, RecoveryError> {
        let highest = standing.highest_sequence_nr;
        let range = self.recovery.events_after(snapshot_sequence_nr, highest);
        let deleted_to = standing.deleted_to;
        if self.recovery.goes_back() && range.from <= range.to && deleted_to >= range.from {
            return Err(RecoveryError::SnapshotNeeded {
                persistence_id: self.persistence_id.clone(),
                deleted_to,
                source: instead_of,
            });
        }
        let pages = EventPages::new(
            &self.environment,
            self.persistence_id.clone(),
            range,
            self.recovery.replay_max,
            deleted_to,
        )?;
        DecodedPages::new(&self.environment, pages.instead_of_snapshot(instead_of))
    }
}
