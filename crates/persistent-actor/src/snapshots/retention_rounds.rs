//! The rounds of retention: which step follows which.

use std::collections::VecDeque;

use actix_persistence_storage_api::SequenceNr;

use crate::{PersistentActor, Recovery, Retention, SaveSnapshotError, StoreResponse};

/// The snapshots that the actor knows of, and the current round of retention.
///
/// Every step may be the last, because the process dies, the actor fails, or the store does. So each leaves a
/// state from which the actor recovers, and knows of what went before only what a store has confirmed.
pub(crate) struct RetentionRounds<A: PersistentActor> {
    /// `None` until the recovery is completed, and for actors that have none.
    retention: Option<Retention<A>>,
    recovery: Recovery,
    left_out_events: bool,
    /// The kept snapshots that are known to be stored, the oldest first.
    stored: VecDeque<SequenceNr>,
    /// True if the store has none that is older than all of `stored`.
    knows_all: bool,
    /// The last event that was looked at.
    seen: SequenceNr,
    due: bool,
    /// The snapshot of the round under way; `None` as soon as the actor asks to delete it.
    newest: Option<SequenceNr>,
}

/// The next request to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The step that finds the youngest snapshot up to this number.
    FindSnapshot { up_to: SequenceNr },
    /// The step that deletes events up to this number.
    DeleteEvents { up_to: SequenceNr },
    /// The step that deletes snapshots up to this number.
    DeleteSnapshots { up_to: SequenceNr },
}

/// The way in which a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Saved,
    /// The save failed, and it is unknown whether the snapshot is stored.
    SaveUnknown,
    Found(Option<SequenceNr>),
    EventsDeleted,
    SnapshotsDeleted,
    Failed,
}

impl Outcome {
    /// Returns the outcome that an answer to a step means for the round.
    pub(crate) fn of(response: &StoreResponse) -> Self {
        match response {
            StoreResponse::SaveSnapshotSuccess { .. } => Outcome::Saved,
            StoreResponse::SaveSnapshotFailure {
                error: SaveSnapshotError::Storage(error),
                ..
            } if !error.is_not_stored() => Outcome::SaveUnknown,
            StoreResponse::DeleteMessagesSuccess { .. } => Outcome::EventsDeleted,
            StoreResponse::DeleteSnapshotsSuccess { .. } => Outcome::SnapshotsDeleted,
            _ => Outcome::Failed,
        }
    }
}

impl<A: PersistentActor> RetentionRounds<A> {
    pub(crate) fn new(recovery: Recovery) -> Self {
        Self {
            retention: None,
            recovery,
            left_out_events: false,
            stored: VecDeque::new(),
            knows_all: false,
            seen: 0,
            due: false,
            newest: None,
        }
    }

    /// Records the number up to which the actor was recovered, and the number of events.
    pub(crate) fn recovered(&mut self, replayed_to: SequenceNr, highest: SequenceNr) {
        // Events that are missing at the end although all were asked for were deleted by the actor.
        let asked_for_all =
            self.recovery.to_sequence_nr >= highest && self.recovery.replay_max == u64::MAX;
        self.left_out_events = replayed_to < highest && !asked_for_all;
        self.seen = highest;
    }

    /// Returns whether the state is to be the sum of all events: none were left out, and not just the last one was
    /// wanted.
    pub(crate) fn asked_for_all(&self) -> bool {
        !self.left_out_events && !self.recovery.only_last_event
    }

    /// Returns whether the state is not that of the journal's end, because the recovery was asked to stop before.
    pub(crate) fn left_out_events(&self) -> bool {
        self.left_out_events
    }

    /// Begins with the snapshot the recovery started from, 0 for none; returns whether it may.
    pub(crate) fn begin(&mut self, retention: Retention<A>, snapshot: SequenceNr) -> bool {
        if self.left_out_events {
            return false;
        }
        self.retention = Some(retention);
        self.stored.extend((snapshot > 0).then_some(snapshot));
        true
    }

    /// Returns whether a round is to begin now that the actor has applied everything up to `last`.
    pub(crate) fn is_due(&mut self, last: SequenceNr) -> bool {
        let Some(retention) = &self.retention else {
            return false;
        };
        self.due |= last / retention.every > self.seen / retention.every;
        self.seen = last;
        self.due
    }

    /// Begins a round with the state of the actor, which includes the event `last`.
    pub(crate) fn start_round(&mut self, actor: &A, last: SequenceNr) -> Option<A::Snapshot> {
        let snapshot = self.retention.as_ref().map(|r| (r.snapshot)(actor))?;
        self.due = false;
        self.newest = Some(last);
        Some(snapshot)
    }

    /// Notes that the actor has asked to delete its snapshots with these numbers: they cover nothing any more.
    pub(crate) fn forget(&mut self, deleted: impl Fn(SequenceNr) -> bool) {
        let before = self.stored.len();
        self.stored.retain(|stored| !deleted(*stored));
        // Deleting may fail; what is still there is found again.
        self.knows_all &= self.stored.len() == before;
        self.newest = self.newest.filter(|newest| !deleted(*newest));
    }

    /// Returns the step that follows one with this outcome; `None` ends the round.
    pub(crate) fn step_after(&mut self, outcome: Outcome) -> Option<Step> {
        match outcome {
            Outcome::SaveUnknown => {
                // It may be one of the snapshots to keep: the next round looks at what there is.
                self.stored.clear();
                self.knows_all = false;
                return None;
            }
            Outcome::SnapshotsDeleted | Outcome::Failed => return None,
            Outcome::Found(None) => {
                self.knows_all = true;
                return None;
            }
            Outcome::Saved | Outcome::Found(Some(_)) | Outcome::EventsDeleted => {}
        }
        let newest = self.newest?;
        let retention = self.retention.as_ref()?;
        match outcome {
            Outcome::Saved => self.stored.push_back(newest),
            Outcome::Found(Some(older)) => self.stored.push_front(older),
            _ => {}
        }
        while self.stored.len() > retention.keep {
            self.stored.pop_front();
        }
        let oldest = *self.stored.front()?;
        let before_oldest = oldest.saturating_sub(1);
        if self.stored.len() < retention.keep {
            let find = Step::FindSnapshot {
                up_to: before_oldest,
            };
            return (!self.knows_all).then_some(find);
        }
        let spared = retention.batches.saturating_mul(retention.every);
        let up_to = oldest.saturating_sub(spared);
        if retention.delete_events && up_to > 0 && outcome != Outcome::EventsDeleted {
            return Some(Step::DeleteEvents { up_to });
        }
        Some(Step::DeleteSnapshots {
            up_to: before_oldest,
        })
    }
}
