//! The place at which a reader continues.

use actix_persistence_storage_api::{
    EventDeletion, EventPosition, EventSelection, EventsQuery, Journal, SelectedEvent,
};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::event_query_steps::{
    EventOfId, EventReader, all_events, event_queries, expect_events, expect_given, settled,
    store_in_turns, store_one,
};
use crate::failure::{CaseResult, expect, expect_eq};
use crate::journal_steps::MAX;
use crate::query_steps::{id_of_slice, offsets_of_all_partitions, tck_id};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(go_on_after_each_event_and_each_page, ["E-EVENTS-5"]).needing(Capability::EventQueries),
    case!(
        go_on_from_the_text_of_an_event_offset_over_a_restart,
        ["E-EVENTS-9"]
    )
    .needing(Capability::EventQueries),
    case!(
        go_on_where_the_events_around_an_offset_were_deleted,
        ["E-EVENTS-9"]
    )
    .needing(Capability::EventQueries),
    case!(move_on_over_events_that_are_not_selected, ["E-EVENTS-10"])
        .needing(Capability::EventQueries),
    case!(go_on_with_a_part_of_what_was_selected, ["E-EVENTS-10"])
        .needing(Capability::EventQueries),
    case!(
        read_no_event_twice_where_others_are_busy,
        ["E-EVENTS-5", "E-EVENTS-10"]
    )
    .needing(Capability::EventQueries),
    case!(refuse_event_offsets_of_other_stores, ["E-EVENTS-11"]).needing(Capability::EventQueries),
];

/// Leaves the offsets out.
fn plain(given: &[SelectedEvent]) -> Vec<EventOfId> {
    let given = given.iter();
    given
        .map(|given| (given.persistence_id.clone(), given.event.clone()))
        .collect()
}

async fn go_on_after_each_event_and_each_page(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let stored = store_in_turns(journal, &[1, 2, 3].map(tck_id), 4).await?;
    settled(journal).await?;
    for limit in [1, 4, 100] {
        let mut reader = EventReader::new(all_events(limit));
        let mut ends_of_pages = vec![(0, all_events(limit).after)];
        loop {
            let page = reader.read(journal).await?;
            ends_of_pages.push((reader.given.len(), page.offset));
            if !page.more {
                break;
            }
        }
        expect_given(&reader.given, &stored)?;
        let given = plain(&reader.given);
        let after_events = reader.given.iter().map(|given| given.offset.clone());
        let ends = (1..).zip(after_events).chain(ends_of_pages);
        for (count, offset) in ends {
            expect_events(journal, all_events(3).after(offset), &given[count..]).await?;
        }
        for _ in 0..3 {
            let page = reader.read(journal).await?;
            expect_eq("events after the last page", page.events.len(), 0)?;
        }
    }
    Ok(())
}

async fn go_on_from_the_text_of_an_event_offset_over_a_restart(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let ids: Vec<_> = (0..10).map(tck_id).collect();
    let stored = store_in_turns(subject.store(), &ids, 1).await?;
    let given = expect_events(subject.store(), all_events(100), &stored).await?;
    let newest = settled(subject.store()).await?;
    let (text, newest) = (given[3].offset.to_string(), newest.to_string());
    let subject = subject.restart().await?;
    let last = store_one(subject.store(), &tck_id(10), |event| event).await?;
    let rest = [plain(&given[4..]), vec![last.clone()]].concat();
    settled(subject.store()).await?;
    for (text, rest) in [(text, &rest[..]), (newest, &[last])] {
        let query = all_events(3).after(text.parse()?);
        // Nothing else was read there before.
        let mut reader = EventReader::new(query);
        reader.read_all(&*subject.another().await?).await?;
        expect_given(&reader.given, rest)?;
    }
    Ok(())
}

async fn go_on_where_the_events_around_an_offset_were_deleted(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let ids = [1, 2].map(tck_id);
    let stored = store_in_turns(journal, &ids, 6).await?;
    let given = expect_events(journal, all_events(100), &stored).await?;
    // All of the one id, and the first three of the other.
    for (id, deleted_to) in [(&ids[0], MAX), (&ids[1], 3)] {
        journal
            .delete_messages_to(id, EventDeletion::up_to(deleted_to))
            .await?;
    }
    let left = |(id, event): &&EventOfId| *id == ids[1] && event.sequence_nr > 3;
    for (place, at) in given.iter().enumerate() {
        let rest = plain(&given[place + 1..]);
        let query = all_events(2).after(at.offset.to_string().parse()?);
        expect_events(journal, query, rest.iter().filter(left)).await?;
    }
    Ok(())
}

async fn move_on_over_events_that_are_not_selected(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let wanted = id_of_slice(0);
    let selections = [
        EventSelection::all().of_slices(0..=0),
        EventSelection::all().with_manifest("tck.other:v1"),
        EventSelection::all().of_entity_type("Other"),
    ];
    let queries = selections
        .iter()
        .flat_map(|selection| [1, 3].map(|limit| EventsQuery::new(selection.clone(), limit)));
    let mut readers: Vec<_> = queries.map(EventReader::new).collect();
    // Of the partition of slice 0, however many the journal has, and of others.
    for slices in [1..=64, 65..=128] {
        for slice in slices {
            store_one(journal, &id_of_slice(slice), |event| event).await?;
        }
        settled(journal).await?;
        for reader in &mut readers {
            reader.read_all(journal).await?;
            expect_eq("events", reader.given.len(), 0)?;
            let (selection, after) = (&reader.query.selection, &reader.query.after);
            let newest = event_queries(journal)?.newest_offset(selection).await?;
            expect(
                after.has_reached(&newest),
                format!("an offset as far as {newest} for {selection:?}, found {after}"),
            )?;
        }
    }
    let stored = store_one(journal, &wanted, |event| event).await?;
    for reader in readers.into_iter().take(2) {
        expect_events(journal, reader.query, [&stored]).await?;
    }
    Ok(())
}

async fn go_on_with_a_part_of_what_was_selected(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let ids: Vec<_> = (0..8).map(tck_id).collect();
    let stored = store_in_turns(journal, &ids, 3).await?;
    let given = expect_events(journal, all_events(4), &stored).await?;
    for (place, at) in given.iter().enumerate() {
        let rest = plain(&given[place + 1..]);
        for slices in [0..=511, 512..=1_023] {
            let part = rest.iter().filter(|(id, _)| slices.contains(&id.slice()));
            let selection = EventSelection::all().of_slices(slices.clone());
            let query = EventsQuery::new(selection, 2).after(at.offset.clone());
            expect_events(journal, query, part).await?;
        }
    }
    Ok(())
}

async fn read_no_event_twice_where_others_are_busy(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut expected = Vec::new();
    let quiet = EventSelection::all().of_slices(0..=511);
    let mut reader = EventReader::new(EventsQuery::new(quiet, 10));
    for (round, slice) in (0..).zip([7, 300, 511]) {
        expected.push(store_one(journal, &id_of_slice(slice), |event| event).await?);
        for busy in [512, 700, 900] {
            store_one(journal, &id_of_slice(busy + round), |event| event).await?;
        }
        settled(journal).await?;
        reader.read_all(journal).await?;
        expect_given(&reader.given, &expected)?;
        for _ in 0..2 {
            let page = reader.read(journal).await?;
            expect_eq("events of quiet slices", page.events.len(), 0)?;
        }
    }
    Ok(())
}

async fn refuse_event_offsets_of_other_stores(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    store_in_turns(journal, &[tck_id(1)], 2).await?;
    let before_all = EventPosition::after_all_of(i64::MIN);
    let mut taken = Vec::new();
    for (of, offset) in offsets_of_all_partitions(&before_all) {
        let query = all_events(10).after(offset);
        match event_queries(journal)?.events(query).await {
            Ok(_) => taken.push(of),
            Err(error) => expect(!error.kind().is_transient(), "an error that stays")?,
        }
    }
    expect_eq("numbers of partitions of the journal", taken.len(), 1)
}
