//! The offset of an event, by its key.

use actix_persistence_storage_api::{EventDeletion, EventOffset, Journal, PersistenceId};

use super::deletes::purge;
use crate::capability::Capability;
use crate::case::{Case, case};
use crate::event_query_steps::{
    EventReader, all_events, event_queries, settled, store_in_turns, store_one,
};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::journal_steps::MAX;
use crate::query_steps::tck_id;
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(find_the_offset_after_each_event, ["E-OFFSET-1"]).needing(Capability::EventQueries),
    case!(find_no_offset_of_what_is_not_there, ["E-OFFSET-2"]).needing(Capability::EventQueries),
    case!(find_the_offset_of_an_event_after_a_purge, ["E-OFFSET-2"])
        .needing(Capability::EventQueries)
        .needing(Capability::Purge),
];

async fn offset_of(
    journal: &dyn Journal,
    id: &PersistenceId,
    number: u64,
) -> Result<Option<EventOffset>, Failure> {
    Ok(event_queries(journal)?.offset_of(id, number).await?)
}

async fn find_the_offset_after_each_event(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let stored = store_in_turns(journal, &[1, 2, 3].map(tck_id), 4).await?;
    settled(journal).await?;
    let mut reader = EventReader::new(all_events(1));
    let mut offsets = Vec::new();
    for (id, event) in &stored {
        let offset = offset_of(journal, id, event.sequence_nr).await?;
        let offset = offset.ok_or_else(|| Failure::new("expected the offset of a stored event"))?;
        expect_eq("partitions", offset.positions().count(), 1)?;
        let reached = reader.query.after.has_reached(&offset);
        expect(!reached, "an offset that no reader has reached".to_owned())?;
        offsets.push((id.clone(), event.sequence_nr, offset));
    }
    while reader.given.len() < stored.len() {
        reader.read(journal).await?;
        for (id, number, offset) in &offsets {
            let mut given = reader.given.iter();
            let is_given = given
                .any(|given| given.persistence_id == *id && given.event.sequence_nr == *number);
            let has_reached = reader.query.after.has_reached(offset);
            expect_eq("an event that was given is reached", has_reached, is_given)?;
        }
    }
    Ok(())
}

async fn find_no_offset_of_what_is_not_there(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let (there, never) = (tck_id(1), tck_id(2));
    store_in_turns(journal, std::slice::from_ref(&there), 4).await?;
    for number in [0, 5, MAX] {
        expect_eq("an offset", offset_of(journal, &there, number).await?, None)?;
    }
    expect_eq("an offset", offset_of(journal, &never, 1).await?, None)?;
    journal
        .delete_messages_to(&there, EventDeletion::up_to(2))
        .await?;
    for number in 1..=4 {
        let is_there = offset_of(journal, &there, number).await?.is_some();
        expect_eq("an offset of what is left", is_there, number > 2)?;
    }
    Ok(())
}

async fn find_the_offset_of_an_event_after_a_purge(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let id = tck_id(1);
    store_in_turns(journal, std::slice::from_ref(&id), 3).await?;
    let before = settled(journal).await?;
    purge(journal, &id).await?;
    for number in 1..=3 {
        expect_eq("an offset", offset_of(journal, &id, number).await?, None)?;
    }
    store_one(journal, &id, |event| event).await?;
    let again = offset_of(journal, &id, 1).await?;
    let is_later = again.is_some_and(|again| !before.has_reached(&again));
    expect(is_later, "the offset of the new event".to_owned())
}
