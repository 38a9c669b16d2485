//! The data that a task would delete.

use std::fmt;

use actix_persistence_storage_api::{
    PageLimit, PersistenceId, ReplayRange, Revision, SequenceNr, SnapshotCriteria,
};

use crate::stream_end::last_before;
use crate::{Cleanup, CleanupError, Numbers, Task};

/// The data of one id that a [`Task`] would delete, as of now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preview {
    /// The numbers of the first and the last event, both inclusive; `None` if no event would be deleted.
    pub events: Option<(SequenceNr, SequenceNr)>,
    /// The sequence number of the newest snapshot that would be deleted; `None` if there is none.
    pub snapshots_to: Option<SequenceNr>,
    /// The revision of the state.
    pub state: Option<Revision>,
    /// The highest number, or revision, if it would be forgotten.
    pub reset_from: Option<u64>,
}

impl Preview {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Cleanup {
    /// Finds out what a task would do with an id, and changes nothing; an actor of it may be running.
    ///
    /// # Errors
    /// [`CleanupError`], where the task would fail for the same reason.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn preview(&self, task: Task, id: &PersistenceId) -> Result<Preview, CleanupError> {
        let mut preview = Preview::default();
        match task {
            Task::DeleteEventsTo(to) => {
                preview.events = self.events_to(id, to).await?.0;
            }
            Task::DeleteEventsBefore(moment) => {
                let (journal, _) = self.journal()?;
                let last = last_before(journal, id, moment).await?;
                preview.events = self.events_to(id, last).await?.0;
            }
            Task::DeleteAllEvents(numbers) => {
                self.preview_events(id, numbers, &mut preview).await?
            }
            Task::DeleteSnapshots(criteria) => {
                preview.snapshots_to = self.youngest(id, criteria).await?;
            }
            Task::CleanupBeforeSnapshot => {
                if let Some(snapshot) = self.covering_snapshot(id).await? {
                    preview.events = self.events_to(id, snapshot).await?.0;
                    if let Some(older) = snapshot.checked_sub(1) {
                        let older = SnapshotCriteria::up_to(older);
                        preview.snapshots_to = self.youngest(id, older).await?;
                    }
                }
            }
            Task::DeleteAll(numbers) => {
                self.preview_events(id, numbers, &mut preview).await?;
                if self.snapshot_store.is_some() {
                    preview.snapshots_to = self.youngest(id, SnapshotCriteria::LATEST).await?;
                }
            }
            Task::DeleteState(numbers) => {
                let (state_store, _) = self.state_store()?;
                let current = state_store.get(id.clone()).await?;
                preview.state = current.state.map(|_| current.revision);
                preview.reset_from = forgotten(numbers, current.revision);
            }
        }
        Ok(preview)
    }

    async fn preview_events(
        &self,
        id: &PersistenceId,
        numbers: Numbers,
        preview: &mut Preview,
    ) -> Result<(), CleanupError> {
        let (events, highest) = self.events_to(id, SequenceNr::MAX).await?;
        preview.events = events;
        preview.reset_from = forgotten(numbers, highest);
        Ok(())
    }

    /// Returns the events up to a number, and the highest number.
    async fn events_to(
        &self,
        id: &PersistenceId,
        to: SequenceNr,
    ) -> Result<(Option<(SequenceNr, SequenceNr)>, SequenceNr), CleanupError> {
        let (journal, _) = self.journal()?;
        let highest = journal.read_highest_sequence_nr(id.clone()).await?;
        let nothing = PageLimit::events(0);
        let page = journal.replay(id.clone(), ReplayRange::ALL, nothing);
        let (first, last) = (page.await?.deleted_to + 1, to.min(highest));
        Ok(((first <= last).then_some((first, last)), highest))
    }

    async fn youngest(
        &self,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SequenceNr>, CleanupError> {
        let snapshot = self.snapshot_store()?.load(id.clone(), criteria).await?;
        Ok(snapshot.map(|snapshot| snapshot.metadata.sequence_nr))
    }
}

fn forgotten(numbers: Numbers, highest: u64) -> Option<u64> {
    (numbers == Numbers::Reset && highest > 0).then_some(highest)
}

/// Prints the preview in the form `events 1 to 5, snapshots up to 3, numbers start again after 5`.
impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.events
                .map(|(first, last)| format!("events {first} to {last}")),
            self.snapshots_to.map(|to| format!("snapshots up to {to}")),
            self.state.map(|at| format!("the state at revision {at}")),
            self.reset_from
                .map(|from| format!("numbers start again after {from}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.as_slice() {
            [] => f.write_str("nothing"),
            parts => f.write_str(&parts.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_tells_each_part() {
        assert_eq!(Preview::default().to_string(), "nothing");
        let preview = Preview {
            events: Some((3, 5)),
            snapshots_to: Some(4),
            state: Some(2),
            reset_from: Some(5),
        };
        let text = "events 3 to 5, snapshots up to 4, the state at revision 2, numbers start again after 5";
        assert_eq!(preview.to_string(), text);
    }
}
