//! The clean-up of one id.

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_persistent_actor::{LiveIds, ReservedId};
use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{
    PersistenceId, PurgeProgress, SequenceNr, SnapshotCriteria, StateDelete, Timestamp,
};

use crate::stream_end::last_before;
use crate::{Batch, CleanupError, Numbers, Task};

/// Deletes what actors stored, through the actors in front of the stores; clones share them.
///
/// Each method may be called again, even after one that failed or was dropped: it finishes what that one had begun, and
/// changes nothing where there is nothing left to do. An id that was never seen is left without a trace.
///
/// An id with an actor in this process is refused as [`CleanupError::Running`], and while its data is being deleted
/// none can be started. Actors in other processes are not known here: stop them first. One that runs nevertheless keeps
/// a state in memory that is no longer stored, and after [`Numbers::Reset`] its next write is refused.
///
/// Deleting is final. Deleted data is lost to readers that build a view from the events, too: store a last event that
/// marks the end, and delete the events before it after every reader has seen it.
#[derive(Clone, Debug, Default)]
pub struct Cleanup {
    pub(crate) journal: Option<(JournalHandle, LiveIds)>,
    pub(crate) snapshot_store: Option<SnapshotHandle>,
    pub(crate) state_store: Option<(StateHandle, LiveIds)>,
}

impl Cleanup {
    /// Knows no store; what needs one fails as [`CleanupError::NoStore`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the same with this journal, and the ids that have a running actor on it.
    #[must_use]
    pub fn with_journal(mut self, journal: JournalHandle, live_ids: LiveIds) -> Self {
        self.journal = Some((journal, live_ids));
        self
    }

    /// Returns the same with this snapshot store, which holds snapshots of the journal's ids.
    #[must_use]
    pub fn with_snapshot_store(mut self, snapshot_store: SnapshotHandle) -> Self {
        self.snapshot_store = Some(snapshot_store);
        self
    }

    /// Returns the same with this state store, and the ids that have a running actor on it.
    #[must_use]
    pub fn with_state_store(mut self, state_store: StateHandle, live_ids: LiveIds) -> Self {
        self.state_store = Some((state_store, live_ids));
        self
    }

    /// Does a task for one id: calls the method of the same name, such as
    /// [`delete_events_to`](Self::delete_events_to) for [`Task::DeleteEventsTo`].
    ///
    /// # Errors
    /// The errors of that method.
    ///
    /// # Cancel safety
    /// The same as that of that method.
    pub async fn run(&self, task: Task, id: &PersistenceId) -> Result<(), CleanupError> {
        match task {
            Task::DeleteEventsTo(to) => self.delete_events_to(id, to).await,
            Task::DeleteEventsBefore(moment) => self.delete_events_before(id, moment).await,
            Task::DeleteAllEvents(numbers) => self.delete_all_events(id, numbers).await,
            Task::DeleteSnapshots(criteria) => self.delete_snapshots(id, criteria).await,
            Task::CleanupBeforeSnapshot => self.cleanup_before_snapshot(id).await,
            Task::DeleteAll(numbers) => self.delete_all(id, numbers).await,
            Task::DeleteState(numbers) => self.delete_state(id, numbers).await,
        }
    }

    /// Returns the task with each of many ids.
    pub fn batch(&self, task: Task) -> Batch {
        Batch::new(self.clone(), task)
    }

    /// Deletes the events of an id up to `to`, inclusive; the highest number is kept.
    ///
    /// Without a snapshot that covers them, an actor that is started later recovers as if they had never been.
    ///
    /// # Errors
    /// [`CleanupError`]; the events are deleted, or all of them are there.
    ///
    /// # Cancel safety
    /// The events are deleted, or all of them are there.
    pub async fn delete_events_to(
        &self,
        id: &PersistenceId,
        to: SequenceNr,
    ) -> Result<(), CleanupError> {
        let (journal, _reserved) = self.reserve_in_journal(id)?;
        Ok(journal.delete_messages_to(id.clone(), to).await?)
    }

    /// Deletes the events of an id before the first one that was written at `moment` or later; the highest number is
    /// kept.
    ///
    /// The timestamps are those of the writers' clocks. If one was set back, old events after younger ones
    /// stay: there is never a gap.
    ///
    /// # Errors
    /// As [`delete_events_to`](Self::delete_events_to).
    ///
    /// # Cancel safety
    /// As [`delete_events_to`](Self::delete_events_to).
    pub async fn delete_events_before(
        &self,
        id: &PersistenceId,
        moment: Timestamp,
    ) -> Result<(), CleanupError> {
        let (journal, _reserved) = self.reserve_in_journal(id)?;
        let last = last_before(journal, id, moment).await?;
        if last > 0 {
            journal.delete_messages_to(id.clone(), last).await?;
        }
        Ok(())
    }

    /// Deletes every event of an id; its snapshots stay.
    ///
    /// With [`Numbers::Reset`] events are removed in parts; until the last one the highest number is kept. Where the
    /// journal cannot purge an id, nothing is done.
    ///
    /// # Errors
    /// [`CleanupError`].
    ///
    /// # Cancel safety
    /// No event is there, or all of them are; numbers are reset or kept.
    pub async fn delete_all_events(
        &self,
        id: &PersistenceId,
        numbers: Numbers,
    ) -> Result<(), CleanupError> {
        let (journal, _reserved) = self.reserve_in_journal(id)?;
        delete_all_events(journal, id, numbers).await
    }

    /// Deletes every snapshot of an id that the criteria select; its events stay.
    ///
    /// A snapshot may be all that is left of events that were deleted: then the state is lost.
    ///
    /// # Errors
    /// [`CleanupError`].
    ///
    /// # Cancel safety
    /// Each of them is deleted or still there.
    pub async fn delete_snapshots(
        &self,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), CleanupError> {
        let snapshot_store = self.snapshot_store()?;
        // Snapshots belong to the actors of the journal, where there is one.
        let _reserved = match &self.journal {
            Some((_, live_ids)) => Some(reserve(live_ids, id)?),
            None => None,
        };
        let deleted = snapshot_store.delete_matching(id.clone(), criteria);
        Ok(deleted.await?)
    }

    /// Deletes the events of an id that its latest snapshot covers, that of the snapshot included, then its older
    /// snapshots; without a snapshot, nothing.
    ///
    /// Changes nothing for an actor that is started later, as long as it can read that snapshot. So it is allowed while
    /// one is running, which does the same by its retention.
    ///
    /// # Errors
    /// [`CleanupError`], among them [`CleanupError::SnapshotAhead`], and a snapshot that the store cannot read: then
    /// nothing is deleted.
    ///
    /// # Cancel safety
    /// The latest snapshot and the events after it are always there.
    pub async fn cleanup_before_snapshot(&self, id: &PersistenceId) -> Result<(), CleanupError> {
        let (journal, _) = self.journal()?;
        let snapshot_store = self.snapshot_store()?;
        let Some(snapshot) = self.covering_snapshot(id).await? else {
            return Ok(());
        };
        journal.delete_messages_to(id.clone(), snapshot).await?;
        if let Some(older) = snapshot.checked_sub(1) {
            let older = SnapshotCriteria::up_to(older);
            snapshot_store.delete_matching(id.clone(), older).await?;
        }
        Ok(())
    }

    /// Deletes every event of an id, then every snapshot, where there is a snapshot store.
    ///
    /// # Errors
    /// As [`delete_all_events`](Self::delete_all_events).
    ///
    /// # Cancel safety
    /// Snapshots may be left whose events are gone: run it again before an actor is started.
    pub async fn delete_all(
        &self,
        id: &PersistenceId,
        numbers: Numbers,
    ) -> Result<(), CleanupError> {
        let (journal, _reserved) = self.reserve_in_journal(id)?;
        // In this order, because a recovery refuses a snapshot beyond the end of the journal, but takes what is left of
        // deleted events without one for everything.
        delete_all_events(journal, id, numbers).await?;
        if let Some(snapshot_store) = &self.snapshot_store {
            let all = SnapshotCriteria::LATEST;
            snapshot_store.delete_matching(id.clone(), all).await?;
        }
        Ok(())
    }

    /// Deletes the state of an id.
    ///
    /// [`Numbers::Keep`] leaves a tombstone at the next revision, unless there is one already; [`Numbers::Reset`]
    /// leaves nothing, so that revisions start again at 1.
    ///
    /// # Errors
    /// [`CleanupError`], among them a conflict of revisions, if another writer writes to the id meanwhile.
    ///
    /// # Cancel safety
    /// The state is deleted or there.
    pub async fn delete_state(
        &self,
        id: &PersistenceId,
        numbers: Numbers,
    ) -> Result<(), CleanupError> {
        let (state_store, live_ids) = self.state_store()?;
        let _reserved = reserve(live_ids, id)?;
        match numbers {
            Numbers::Keep => {
                let current = state_store.get(id.clone()).await?;
                if current.state.is_some() {
                    let tombstone = StateDelete::new(id.clone(), current.revision + 1);
                    state_store.delete(tombstone).await?;
                }
            }
            Numbers::Reset => {
                state_store.hard_delete(id.clone()).await?;
            }
        }
        Ok(())
    }

    /// Returns the number of the latest snapshot, if there is one.
    pub(crate) async fn covering_snapshot(
        &self,
        id: &PersistenceId,
    ) -> Result<Option<SequenceNr>, CleanupError> {
        let (journal, _) = self.journal()?;
        let snapshot_store = self.snapshot_store()?;
        let latest = SnapshotCriteria::LATEST;
        let Some(record) = snapshot_store.load(id.clone(), latest).await? else {
            return Ok(None);
        };
        let snapshot = record.metadata.sequence_nr;
        let highest = journal.read_highest_sequence_nr(id.clone()).await?;
        if snapshot > highest {
            return Err(CleanupError::SnapshotAhead {
                persistence_id: id.clone(),
                snapshot,
                highest,
            });
        }
        Ok(Some(snapshot))
    }

    pub(crate) fn journal(&self) -> Result<&(JournalHandle, LiveIds), CleanupError> {
        self.journal
            .as_ref()
            .ok_or(CleanupError::NoStore { store: "journal" })
    }

    pub(crate) fn snapshot_store(&self) -> Result<&SnapshotHandle, CleanupError> {
        self.snapshot_store.as_ref().ok_or(CleanupError::NoStore {
            store: "snapshot store",
        })
    }

    pub(crate) fn state_store(&self) -> Result<&(StateHandle, LiveIds), CleanupError> {
        self.state_store.as_ref().ok_or(CleanupError::NoStore {
            store: "state store",
        })
    }

    fn reserve_in_journal(
        &self,
        id: &PersistenceId,
    ) -> Result<(&JournalHandle, ReservedId), CleanupError> {
        let (journal, live_ids) = self.journal()?;
        Ok((journal, reserve(live_ids, id)?))
    }
}

fn reserve(live_ids: &LiveIds, id: &PersistenceId) -> Result<ReservedId, CleanupError> {
    live_ids.reserve(id).map_err(CleanupError::not_reserved)
}

async fn delete_all_events(
    journal: &JournalHandle,
    id: &PersistenceId,
    numbers: Numbers,
) -> Result<(), CleanupError> {
    match numbers {
        Numbers::Keep => {
            let all = SequenceNr::MAX;
            journal.delete_messages_to(id.clone(), all).await?;
        }
        Numbers::Reset => while journal.purge(id.clone()).await? == PurgeProgress::Unfinished {},
    }
    Ok(())
}
