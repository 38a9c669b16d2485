//! The requests to the stores that the rounds of retention make.

use std::task::{Context, Poll};

use actix_persistence_storage_api::{
    Operation, PersistenceId, SequenceNr, SnapshotCriteria, StorageError,
};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use crate::error::error_chain::ErrorChain;
use crate::snapshots::retention_rounds::{Outcome, Step};
use crate::stores::patience::{self, in_time};
use crate::{PersistentActor, PersistentContext, RecoveryError, StoreResponse};

/// A step that a store is asked to take.
pub(crate) type StepFuture = LocalBoxFuture<'static, StepEnd>;

/// A step that ended, and what to report to the actor.
pub(crate) struct StepEnd {
    pub(crate) outcome: Outcome,
    pub(crate) response: Option<StoreResponse>,
}

impl<A: PersistentActor> PersistentContext<A> {
    /// Asks the actor, once it is recovered, what it retains.
    ///
    /// # Errors
    /// If events were deleted that no snapshot covers, although the actor deletes only what one covers: then its state
    /// lacks them, and the next round would make that last.
    pub(crate) fn begin_retention(&mut self, actor: &A) -> Result<(), RecoveryError> {
        let retention = actor.retention();
        let snapshot = self.snapshot_sequence_nr;
        let lacks_events = self.deleted_to > snapshot && self.retention.asked_for_all();
        if lacks_events {
            if retention.as_ref().is_some_and(|r| r.delete_events) {
                return Err(RecoveryError::SnapshotNeeded {
                    persistence_id: self.persistence_id.clone(),
                    deleted_to: self.deleted_to,
                    source: None,
                });
            }
            warn_lacks_events(&self.persistence_id, self.deleted_to, snapshot);
        }
        let Some(retention) = retention else {
            return Ok(());
        };
        if !self.retention.begin(retention, snapshot) {
            warn_not_retained(&self.persistence_id);
        }
        Ok(())
    }

    /// Begins a round, if one is due and none is under way.
    pub(crate) fn retain(&mut self, actor: &A) {
        let last = self.last_sequence_nr;
        if !self.retention.is_due(last) || self.retention_step.is_some() {
            return;
        }
        if let Some(snapshot) = self.retention.start_round(actor, last) {
            let saving = self.saving(&snapshot);
            self.retention_step = Some(saving.map(StepEnd::answered).boxed_local());
        }
    }

    /// Takes the end of the step under way, if it is there.
    pub(crate) fn poll_retention(&mut self, cx: &mut Context<'_>) -> Poll<StepEnd> {
        let Some(step) = &mut self.retention_step else {
            return Poll::Pending;
        };
        let end = step.poll_unpin(cx);
        if end.is_ready() {
            self.retention_step = None;
        }
        end
    }

    /// Goes on after a step: with the next one, or with the round that became due meanwhile.
    pub(crate) fn go_on_retaining(&mut self, outcome: Outcome, actor: &A) {
        match self.retention.step_after(outcome) {
            Some(step) => {
                let step = self.step(step);
                self.retention_step = Some(step);
            }
            None => self.retain(actor),
        }
    }

    fn step(&mut self, step: Step) -> StepFuture {
        match step {
            Step::DeleteEvents { up_to } => self
                .deleting_messages(up_to)
                .map(StepEnd::answered)
                .boxed_local(),
            Step::DeleteSnapshots { up_to } => self
                .deleting_snapshots(SnapshotCriteria::up_to(up_to))
                .map(StepEnd::answered)
                .boxed_local(),
            Step::FindSnapshot { up_to } => self.finding_snapshot(up_to),
        }
    }

    fn finding_snapshot(&self, up_to: SequenceNr) -> StepFuture {
        let persistence_id = self.persistence_id.clone();
        let loading = self.environment.stores.snapshot_store().map(|store| {
            in_time(
                Operation::LoadSnapshot,
                persistence_id.clone(),
                patience::for_loading(store),
                store.load(persistence_id.clone(), SnapshotCriteria::up_to(up_to)),
            )
        });
        let finding = async move {
            let found = match loading {
                Some(reply) => reply.await,
                None => Ok(None),
            };
            let outcome = match found {
                Ok(found) => Outcome::Found(found.map(|record| record.metadata.sequence_nr)),
                Err(error) => {
                    warn_not_found(&persistence_id, &error);
                    Outcome::Failed
                }
            };
            StepEnd {
                outcome,
                response: None,
            }
        };
        finding.boxed_local()
    }
}

impl StepEnd {
    fn answered(response: StoreResponse) -> Self {
        Self {
            outcome: Outcome::of(&response),
            response: Some(response),
        }
    }
}

// These are compiled once, and what is generic for each type of actors.

fn warn_lacks_events(
    persistence_id: &PersistenceId,
    deleted_to: SequenceNr,
    snapshot_sequence_nr: SequenceNr,
) {
    tracing::warn!(
        %persistence_id,
        deleted_to,
        snapshot_sequence_nr,
        "events were deleted that no snapshot covers; the state does not contain them"
    );
}

fn warn_not_retained(persistence_id: &PersistenceId) {
    tracing::warn!(
        %persistence_id,
        "no snapshots are retained until the next start, because this recovery left out events"
    );
}

fn warn_not_found(persistence_id: &PersistenceId, error: &StorageError) {
    tracing::warn!(
        %persistence_id,
        error = %ErrorChain(error),
        "older snapshots could not be looked up, nothing is deleted before the next snapshot"
    );
}
