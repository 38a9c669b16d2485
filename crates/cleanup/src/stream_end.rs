//! The end of the events that are older than a given time.

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_storage_api::{
    PageLimit, PersistenceId, ReplayRange, SequenceNr, StorageError, Timestamp,
};

/// Returns the number of the last event before the first one that is not older than `moment`; 0 if there is none.
///
/// Every event up to there is looked at, because clocks are set back: a search in halves could take a young event among
/// old ones for an old one. Takes the memory of a page.
pub(crate) async fn last_before(
    journal: &JournalHandle,
    id: &PersistenceId,
    moment: Timestamp,
) -> Result<SequenceNr, StorageError> {
    let mut last = 0;
    loop {
        let range = ReplayRange::new(last + 1, SequenceNr::MAX);
        let page = journal
            .replay(id.clone(), range, PageLimit::DEFAULT)
            .await?;
        for event in &page.events {
            if event.timestamp >= moment {
                return Ok(last);
            }
            last = event.sequence_nr;
        }
        if !page.more || page.events.is_empty() {
            return Ok(last);
        }
    }
}
