//! Events that are deleted or purged, before and while they are read.

use std::time::Duration;

use actix_persistence_storage_api::{
    EventDeletion, EventOffset, Journal, PersistenceId, PurgeProgress,
};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::event_query_steps::{
    EventReader, all_events, expect_events, expect_given, of_id, settled, store_in_turns, store_one,
};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::journal_steps::MAX;
use crate::query_steps::tck_id;
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(give_no_event_of_a_deleted_prefix, ["E-EVENTS-8"]).needing(Capability::EventQueries),
    case!(give_nothing_where_every_event_is_deleted, ["E-EVENTS-8"])
        .needing(Capability::EventQueries),
    case!(
        give_no_event_that_is_deleted_between_two_pages,
        ["E-EVENTS-8"]
    )
    .needing(Capability::EventQueries),
    case!(give_no_event_that_is_purged, ["E-EVENTS-8"])
        .needing(Capability::EventQueries)
        .needing(Capability::Purge),
    case!(
        give_the_events_after_a_purge_to_readers_of_before,
        ["E-EVENTS-2"]
    )
    .needing(Capability::EventQueries)
    .needing(Capability::Purge),
    case!(reach_where_readers_were_before_a_delete, ["E-EVENTS-12"])
        .needing(Capability::EventQueries),
    case!(reach_where_readers_were_before_a_purge, ["E-EVENTS-12"])
        .needing(Capability::EventQueries)
        .needing(Capability::Purge),
];

/// The number of looks after which a reader must have got there: on some databases other writers hold it back for a while.
const LOOKS: usize = 500;

/// Calls until the purge is done; the ids of these cases have few events.
pub(super) async fn purge(journal: &dyn Journal, id: &PersistenceId) -> CaseResult {
    while journal.purge(id).await? != PurgeProgress::Done {}
    Ok(())
}

async fn delete_to(journal: &dyn Journal, id: &PersistenceId, number: u64) -> CaseResult {
    let deletion = EventDeletion::up_to(number);
    Ok(journal.delete_messages_to(id, deletion).await?)
}

async fn give_no_event_of_a_deleted_prefix(subject: Subject<dyn Journal>) -> CaseResult {
    let ids = [1, 2, 3].map(tck_id);
    let stored = store_in_turns(subject.store(), &ids, 6).await?;
    delete_to(subject.store(), &ids[0], 2).await?;
    delete_to(subject.store(), &ids[1], 5).await?;
    let deleted = |id: &PersistenceId| match id {
        id if *id == ids[0] => 2,
        id if *id == ids[1] => 5,
        _ => 0,
    };
    let left = stored.iter();
    let left: Vec<_> = left
        .filter(|(id, event)| event.sequence_nr > deleted(id))
        .cloned()
        .collect();
    for limit in [1, 4, 100] {
        expect_events(subject.store(), all_events(limit), &left).await?;
    }
    let subject = subject.restart().await?;
    expect_events(subject.store(), all_events(5), &left)
        .await
        .map(drop)
}

async fn give_nothing_where_every_event_is_deleted(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let ids = [1, 2].map(tck_id);
    let stored = store_in_turns(journal, &ids, 3).await?;
    let mut before = EventReader::new(all_events(2));
    expect_events(journal, all_events(10), &stored).await?;
    before.read(journal).await?;
    for id in &ids {
        delete_to(journal, id, MAX).await?;
    }
    for limit in [1, 10] {
        expect_events(journal, all_events(limit), []).await?;
    }
    expect_events(journal, before.query.clone(), []).await?;
    // Each goes on where the other has ended.
    let mut writer = Writer::holder_of(journal, &ids[0]).await?;
    let number = writer.next;
    writer.store(journal, 1).await?;
    let next = of_id(&ids[0], writer.events(number..=number));
    expect_events(journal, before.query, &next).await?;
    expect_events(journal, all_events(1), &next).await.map(drop)
}

async fn give_no_event_that_is_deleted_between_two_pages(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let ids = [1, 2, 3].map(tck_id);
    let stored = store_in_turns(journal, &ids, 8).await?;
    settled(journal).await?;
    for (limit, deleted_to) in [(1, 4), (2, 5), (7, 6)] {
        let mut reader = EventReader::new(all_events(limit));
        reader.read(journal).await?;
        let first = reader.given.len();
        delete_to(journal, &ids[0], deleted_to).await?;
        reader.read_all(journal).await?;
        let deleted = reader.given[first..].iter();
        let deleted = deleted
            .filter(|given| given.persistence_id == ids[0])
            .filter(|given| given.event.sequence_nr <= deleted_to);
        expect_eq("deleted events", deleted.count(), 0)?;
        let others = stored.iter().filter(|(id, _)| *id != ids[0]);
        reader.given.retain(|given| given.persistence_id != ids[0]);
        expect_given(&reader.given, others)?;
    }
    Ok(())
}

async fn give_no_event_that_is_purged(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let ids = [1, 2, 3].map(tck_id);
    let stored = store_in_turns(journal, &ids, 4).await?;
    let left = || stored.iter().filter(|(id, _)| *id != ids[1]);
    expect_events(journal, all_events(3), &stored).await?;
    let mut reader = EventReader::new(all_events(5));
    reader.read(journal).await?;
    let first = reader.given.len();
    purge(journal, &ids[1]).await?;
    reader.read_all(journal).await?;
    let of_purged = reader.given[first..].iter();
    let of_purged = of_purged.filter(|given| given.persistence_id == ids[1]);
    expect_eq("purged events", of_purged.count(), 0)?;
    for limit in [1, 100] {
        expect_events(journal, all_events(limit), left()).await?;
    }
    Ok(())
}

async fn give_the_events_after_a_purge_to_readers_of_before(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let (id, other) = (tck_id(1), tck_id(2));
    let before = store_in_turns(journal, std::slice::from_ref(&id), 5).await?;
    let given = expect_events(journal, all_events(2), &before).await?;
    let newest = settled(journal).await?;
    purge(journal, &id).await?;
    let again = store_in_turns(journal, std::slice::from_ref(&id), 3).await?;
    let of_other = store_one(journal, &other, |event| event).await?;
    let expected = [again, vec![of_other]].concat();
    let offsets = given.into_iter().map(|given| given.offset);
    let start = all_events(1).after;
    for after in offsets.chain([newest, start]) {
        for limit in [1, 10] {
            let query = all_events(limit).after(after.clone());
            expect_events(journal, query, &expected).await?;
        }
    }
    let numbers_start_again = expected[0].1.sequence_nr == 1;
    expect(numbers_start_again, "numbers that start again at 1")
}

/// Expects that one who reads from the start gets as far as this, once there is no more.
async fn expect_reach(journal: &dyn Journal, offset: &EventOffset) -> CaseResult {
    expect_reach_from(journal, &EventOffset::start(), offset).await
}

/// Expects that one who reads from a place gets as far as this, once there is no more.
async fn expect_reach_from(
    journal: &dyn Journal,
    from: &EventOffset,
    offset: &EventOffset,
) -> CaseResult {
    let mut reached = EventOffset::start();
    for _ in 0..LOOKS {
        let mut reader = EventReader::new(all_events(3).after(from.clone()));
        reader.read_all(journal).await?;
        reached = reader.query.after;
        if reached.has_reached(offset) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Err(Failure::new(format!(
        "expected an offset as far as {offset}, found {reached}"
    )))
}

async fn reach_where_readers_were_before_a_delete(subject: Subject<dyn Journal>) -> CaseResult {
    let ids = [1, 2].map(tck_id);
    store_in_turns(subject.store(), &ids, 3).await?;
    let offset = settled(subject.store()).await?;
    for id in ids.iter().rev() {
        delete_to(subject.store(), id, 3).await?;
        expect_reach(subject.store(), &offset).await?;
    }
    let subject = subject.restart().await?;
    expect_reach(subject.store(), &offset).await
}

async fn reach_where_readers_were_before_a_purge(subject: Subject<dyn Journal>) -> CaseResult {
    let ids = [1, 2].map(tck_id);
    let stored = store_in_turns(subject.store(), &ids, 3).await?;
    let offset = settled(subject.store()).await?;
    let given = expect_events(subject.store(), all_events(3), &stored).await?;
    for id in ids.iter().rev() {
        purge(subject.store(), id).await?;
        expect_reach(subject.store(), &offset).await?;
        for event in &given {
            expect_reach(subject.store(), &event.offset).await?;
        }
    }
    // One that is purged as soon as it is stored, from just before it.
    let before = settled(subject.store()).await?;
    store_one(subject.store(), &tck_id(3), |event| event).await?;
    let after = settled(subject.store()).await?;
    purge(subject.store(), &tck_id(3)).await?;
    expect_reach_from(subject.store(), &before, &after).await?;
    let subject = subject.restart().await?;
    expect_reach(subject.store(), &offset).await?;
    // Nothing that comes later is passed over.
    let later = store_one(subject.store(), &ids[1], |event| event).await?;
    let query = all_events(3).after(after);
    expect_events(subject.store(), query, [&later])
        .await
        .map(drop)
}
