//! Waiting until something is in the read model.

use std::ops::RangeInclusive;
use std::time::Duration;

use actix_persistence_storage_api::{Offset, PersistenceId, Position, Progress};
use tokio::time::{Instant, sleep, timeout_at};

use crate::pieces::has_reached_text;
use crate::places::ALL_SLICES;
use crate::{AppliedError, Projection};

/// The delay between two looks at the progress, for a caller who waits for it.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

impl Projection {
    /// Waits until everything before an offset was handled, by any process, for at most this time. What was skipped counts as
    /// handled, and so does what is parked.
    ///
    /// The offset is one of the same source, such as that of an event. Progress of other processes that brings no items is
    /// noticed after their [`idle_progress`](crate::ProjectionSettings::idle_progress).
    ///
    /// # Errors
    /// [`AppliedError::Timeout`], and the errors of the offset store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn applied<P: Position>(
        &self,
        offset: &Offset<P>,
        within: Duration,
    ) -> Result<(), AppliedError> {
        let end = Instant::now() + within;
        let offset = offset.to_string();
        in_time(end, within, self.reached(&ALL_SLICES, &offset)).await
    }

    /// Waits until an event was handled, by any process, for at most this time: what reads after it sees its own write.
    ///
    /// The number is that with which the event was stored, such as the `last_sequence_nr` of the context in a reply. In a
    /// projection of changes it is the revision; a later one of the same id counts as well. The place of the event is looked up
    /// by its key in the journal, once, and only the share of its id is waited for. An event that the projection does not select
    /// counts as handled once the projection is past it, and so does one that it has skipped.
    ///
    /// # Errors
    /// [`AppliedError::NotStored`] if the event is not there: it was never stored, or was deleted or purged since;
    /// [`AppliedError::Parked`] if it waits.
    /// [`AppliedError::Timeout`], and the errors of the stores.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn applied_event(
        &self,
        persistence_id: &PersistenceId,
        number: u64,
        within: Duration,
    ) -> Result<(), AppliedError> {
        let end = Instant::now() + within;
        let applied = async {
            let offset = self.places.offset_of(persistence_id, number).await?;
            let offset = offset.ok_or_else(|| AppliedError::NotStored {
                persistence_id: persistence_id.clone(),
                number,
            })?;
            let slice = persistence_id.slice();
            self.reached(&(slice..=slice), &offset).await?;
            let waiting = self.parked_items(persistence_id, 1).await?;
            // Everything of the id that follows waits as well. Numbers do not tell: they begin again after a purge.
            let event = Progress::new(slice..=slice, offset);
            match waiting.into_iter().next() {
                Some(first) if has_reached_text(&event, &ALL_SLICES, &first.offset) => {
                    Err(AppliedError::Parked {
                        persistence_id: persistence_id.clone(),
                        number,
                        item: first.item,
                    })
                }
                _ => Ok(()),
            }
        };
        in_time(end, within, applied).await
    }

    /// Waits until the progress has reached an offset in these slices, however long that takes.
    async fn reached(
        &self,
        slices: &RangeInclusive<u16>,
        offset: &str,
    ) -> Result<(), AppliedError> {
        loop {
            let record = self.store.read(&self.key).await?;
            let shares = record.map(|record| record.shares).unwrap_or_default();
            let mut all = shares.iter().map(|share| &share.progress);
            if !shares.is_empty() && all.all(|progress| has_reached_text(progress, slices, offset))
            {
                return Ok(());
            }
            self.awaited.send_replace(());
            sleep(LOOK_AGAIN).await;
        }
    }
}

async fn in_time(
    end: Instant,
    within: Duration,
    applied: impl Future<Output = Result<(), AppliedError>>,
) -> Result<(), AppliedError> {
    let ended = timeout_at(end, applied).await;
    ended.unwrap_or(Err(AppliedError::Timeout { waited: within }))
}
