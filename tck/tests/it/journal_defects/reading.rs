//! Defects of replay and of reading the highest number.

use std::sync::Arc;

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    EventRecord, Journal, PageLimit, PersistenceId, ReplayPage, ReplayRange, SequenceNr,
    StorageError, Timestamp, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use async_trait::async_trait;

use super::defect;
use crate::broken_journal::JournalDefect;

defect! {
    /// Replays from the first event whatever was asked for.
    IgnoresLowerBound,
    replay(inner, id, range, page) {
        inner.replay_messages(id, ReplayRange::new(1, range.to), page).await
    }
}

defect! {
    /// Takes the upper bound as exclusive.
    UpperBoundExclusive,
    replay(inner, id, range, page) {
        let to = range.to.saturating_sub(1);
        inner.replay_messages(id, ReplayRange::new(range.from, to), page).await
    }
}

defect! {
    /// Takes the lower bound as exclusive, as an offset.
    LowerBoundExclusive,
    replay(inner, id, range, page) {
        let from = if range.from <= 1 { 1 } else { range.from.saturating_add(1) };
        inner.replay_messages(id, ReplayRange::new(from, range.to), page).await
    }
}

defect! {
    /// Puts the lower bound into a signed column, where large numbers are negative.
    CastsBoundsToSigned,
    replay(inner, id, range, page) {
        let from = u64::try_from(range.from as i64).unwrap_or(0);
        inner.replay_messages(id, ReplayRange::new(from, range.to), page).await
    }
}

defect! {
    /// Counts deleted events against the limit, as a query does that filters after `LIMIT`.
    MaxCountsDeleted,
    replay(inner, id, range, page) {
        let deleted = inner.replay_messages(id, range, page).await?.deleted_to;
        let counted = (range.from.max(1)..=deleted.min(range.to)).count();
        let max_events = page.max_events.saturating_sub(counted);
        inner.replay_messages(id, range, PageLimit { max_events, ..page }).await
    }
}

defect! {
    /// Takes zero for "no limit".
    ZeroMeansNoLimit,
    replay(inner, id, range, page) {
        let max_events = if page.max_events == 0 { usize::MAX } else { page.max_events };
        inner.replay_messages(id, range, PageLimit { max_events, ..page }).await
    }
}

defect! {
    /// Knows nothing of the limit of events.
    IgnoresMaxEvents,
    replay(inner, id, range, page) {
        let page = PageLimit { max_events: usize::MAX, ..page };
        let mut found = inner.replay_messages(id, range, page).await?;
        found.more = false;
        Ok(found)
    }
}

defect! {
    /// Takes a full page as the sign that more remain.
    MoreIfPageIsFull,
    replay(inner, id, range, page) {
        let mut found = inner.replay_messages(id, range, page).await?;
        found.more |= found.events.len() == page.max_events;
        Ok(found)
    }
}

defect! {
    /// Never says that more remain.
    NeverMore,
    replay(inner, id, range, page) {
        let mut found = inner.replay_messages(id, range, page).await?;
        found.more = false;
        Ok(found)
    }
}

defect! {
    /// Knows nothing of the limit of bytes.
    IgnoresMaxBytes,
    replay(inner, id, range, page) {
        inner.replay_messages(id, range, PageLimit::events(page.max_events)).await
    }
}

defect! {
    /// Counts the bytes of payloads only.
    CountsPayloadsOnly,
    replay(inner, id, range, page) {
        let unlimited = PageLimit::events(page.max_events);
        let mut found = inner.replay_messages(id, range, unlimited).await?;
        let mut bytes = 0;
        let fit = found.events.iter().take_while(|event| {
            bytes += event.payload.len();
            bytes <= page.max_bytes
        });
        let kept = fit.count().max(usize::from(!found.events.is_empty()));
        found.more |= kept < found.events.len();
        found.events.truncate(kept);
        Ok(found)
    }
}

defect! {
    /// Gives an empty page when the first event is larger than the page.
    EmptiesPagesByBytes,
    replay(inner, id, range, page) {
        let mut found = inner.replay_messages(id, range, page).await?;
        if found.events.iter().map(EventRecord::size).sum::<usize>() > page.max_bytes {
            found.events.clear();
            found.more = true;
        }
        Ok(found)
    }
}

defect! {
    /// Says of a page without events that nothing is deleted.
    ForgetsDeletedToOnEmptyPages,
    replay(inner, id, range, page) {
        let mut found = inner.replay_messages(id, range, page).await?;
        if found.events.is_empty() {
            found.deleted_to = 0;
        }
        Ok(found)
    }
}

defect! {
    /// Sorts the wrong way round.
    ReplaysDescending,
    replay(inner, id, range, page) {
        let mut found = inner.replay_messages(id, range, page).await?;
        found.events.reverse();
        Ok(found)
    }
}

defect! {
    /// Takes over the id in order to read it.
    RaisesEpochWhenReading,
    replay(inner, id, range, page) {
        inner.take_over_one(id, WriterId::random()).await?;
        inner.replay_messages(id, range, page).await
    }
}

defect! {
    /// Does not store the writer.
    LosesWriterId,
    replay(inner, id, range, page) {
        change_events(inner, id, range, page, |event| event.writer = WriterId::NIL).await
    }
}

defect! {
    /// Has one column for both manifests.
    HasOneManifestColumn,
    replay(inner, id, range, page) {
        change_events(inner, id, range, page, |event| {
            if !event.adapter_manifest.is_empty() {
                event.adapter_manifest = Arc::clone(&event.payload.manifest);
            }
        })
        .await
    }
}

defect! {
    /// Does not store the serializer id: there was only one when it was written.
    LosesSerializerId,
    replay(inner, id, range, page) {
        change_events(inner, id, range, page, |event| event.payload.serializer_id = 1_000).await
    }
}

defect! {
    /// Keeps payloads in a text column.
    KeepsBytesAsText,
    replay(inner, id, range, page) {
        change_events(inner, id, range, page, |event| {
            let text = String::from_utf8_lossy(&event.payload.bytes).into_owned();
            event.payload.bytes = text.into();
        })
        .await
    }
}

defect! {
    /// Keeps timestamps without a sign.
    KeepsNoTimeBefore1970,
    replay(inner, id, range, page) {
        change_events(inner, id, range, page, |event| {
            event.timestamp = event.timestamp.max(Timestamp::UNSET);
        })
        .await
    }
}

defect! {
    /// Declares tags and keeps one.
    KeepsOneTag,
    replay(inner, id, range, page) {
        change_events(inner, id, range, page, |event| event.tags.truncate(1)).await
    }
}

defect! {
    /// Declares metadata and loses them.
    LosesMetadata,
    replay(inner, id, range, page) {
        change_events(inner, id, range, page, |event| event.metadata = None).await
    }
}

defect! {
    /// Cuts events at 64 KiB, as a `BLOB` of MySQL does without strict mode.
    CutsLargeEvents,
    replay(inner, id, range, page) {
        change_events(inner, id, range, page, |event| {
            event.payload.bytes.truncate(65_535);
        })
        .await
    }
}

defect! {
    /// Takes the highest surviving number for the highest ever stored.
    ResetsHighestOnDelete,
    highest(inner, id) {
        let survivors = inner
            .replay_messages(id, ReplayRange::ALL, PageLimit::events(usize::MAX))
            .await?;
        Ok(survivors.events.last().map_or(0, |event| event.sequence_nr))
    }
}

defect! {
    /// Finds a number where there is none.
    FindsAHighestWithoutEvents,
    highest(inner, id) {
        Ok(inner.read_highest_sequence_nr(id).await?.max(1))
    }
}

async fn change_events(
    inner: &MemoryJournal,
    id: &PersistenceId,
    range: ReplayRange,
    page: PageLimit,
    change: impl Fn(&mut EventRecord) + Send,
) -> Result<ReplayPage, StorageError> {
    let mut found = inner.replay_messages(id, range, page).await?;
    found.events.iter_mut().for_each(change);
    Ok(found)
}

/// Keeps one highest number for all ids.
#[derive(Clone, Default)]
pub(crate) struct HasOneHighestForAll {
    highest: Arc<std::sync::atomic::AtomicU64>,
}

#[async_trait]
impl JournalDefect for HasOneHighestForAll {
    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<actix_persistence_storage_api::AtomicWrite>,
    ) -> Result<Vec<actix_persistence_storage_api::WriteOutcome>, StorageError> {
        for write in &writes {
            let highest = write.highest_sequence_nr();
            self.highest
                .fetch_max(highest, std::sync::atomic::Ordering::SeqCst);
        }
        inner.write_messages(writes).await
    }

    async fn highest(
        &self,
        _inner: &MemoryJournal,
        _id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        Ok(self.highest.load(std::sync::atomic::Ordering::SeqCst))
    }
}
