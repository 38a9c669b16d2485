//! The recovery of an id: its head, and then page after page.

use actix_persistence_storage_api::{EventRecord, Journal, PageLimit, PersistenceId, ReplayRange};

use crate::failure::{Failure, expect};

/// Reads every event of an id as a recovery does, with the default limit of a page.
pub(super) async fn recovered(
    journal: &dyn Journal,
    id: &PersistenceId,
) -> Result<Vec<EventRecord>, Failure> {
    let highest = journal.read_head(id).await?.highest_sequence_nr;
    let mut events = Vec::new();
    let mut next = 1;
    loop {
        let range = ReplayRange::new(next, highest);
        let page = journal
            .replay_messages(id, range, PageLimit::DEFAULT)
            .await?;
        let last = page.events.last().map_or(0, |event| event.sequence_nr);
        events.extend(page.events);
        if !page.more {
            return Ok(events);
        }
        // Pages that do not go on would never end.
        let goes_on = last >= next;
        expect(
            goes_on,
            format_args!("an event from {next} on in a page of {id} that others follow"),
        )?;
        next = last.saturating_add(1);
    }
}
