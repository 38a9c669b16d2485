//! The events that a query returns, with every field, and in the order of each id.

use actix_persistence_storage_api::{
    EventRecord, EventSelection, Journal, Payload, PersistenceId, Timestamp, WriterId,
};

use crate::bytes_like_random::bytes_like_random;
use crate::capability::Capability;
use crate::case::{Case, case};
use crate::event_query_steps::{
    all_events, event_queries, expect_events, of_id, store_events, store_in_turns,
};
use crate::failure::CaseResult;
use crate::journal_steps::{conflict_in, expect_stored, outcome_of};
use crate::my_payload::of_an_application;
use crate::odd_texts::{ODD_TEXTS, odd_ids};
use crate::parallel::poll_and_drop;
use crate::query_steps::tck_id;
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(give_every_event_as_it_was_stored, ["E-EVENTS-1"]).needing(Capability::EventQueries),
    case!(give_events_with_their_metadata, ["E-EVENTS-1"])
        .needing(Capability::EventQueries)
        .needing(Capability::Metadata),
    case!(give_events_with_all_their_tags, ["E-EVENTS-1"])
        .needing(Capability::EventQueries)
        .needing(Capability::Tags),
    case!(give_events_of_all_ids_and_writers, ["E-EVENTS-1"]).needing(Capability::EventQueries),
    case!(give_nothing_of_writes_that_were_refused, ["E-EVENTS-1"])
        .needing(Capability::EventQueries),
    case!(answer_after_many_dropped_event_queries, ["E-EVENTS-1"])
        .needing(Capability::EventQueries),
    case!(give_the_events_of_an_id_in_order, ["E-EVENTS-2"]).needing(Capability::EventQueries),
];

/// Stores events of one id that these changes make of plain ones, and expects them back, before and after a restart.
async fn expect_kept<T>(
    subject: Subject<dyn Journal>,
    values: Vec<T>,
    change: impl Fn(&mut EventRecord, T),
) -> CaseResult {
    let writer = Writer::holder_of(subject.store(), &tck_id(1)).await?;
    let events = (1..).zip(values).map(|(number, value)| {
        let mut event = writer.event(number);
        change(&mut event, value);
        event
    });
    let stored = store_events(subject.store(), &writer, events.collect()).await?;
    for limit in [1, 3, 1_000] {
        expect_events(subject.store(), all_events(limit), &stored).await?;
    }
    let subject = subject.restart().await?;
    expect_events(subject.store(), all_events(7), &stored).await?;
    Ok(())
}

async fn give_every_event_as_it_was_stored(subject: Subject<dyn Journal>) -> CaseResult {
    let most = subject.store().capabilities().max_event_bytes;
    let sizes = [0, 1, 1_000, 100_000].into_iter();
    let sizes = sizes.filter(|size| most.is_none_or(|most| *size <= most));
    let of_sizes = sizes.map(|size| Payload::new(1_000, "tck.bytes:v1", bytes_like_random(size)));
    let payloads = of_an_application().into_iter().chain(of_sizes);
    let micros = [1_763_697_831_123_457, 0, -1, i64::MAX, i64::MIN];
    let manifests = ["", "tck.adapted:v2", " Tck\u{e9} "];
    let values = payloads
        .zip(micros.into_iter().cycle())
        .zip(manifests.into_iter().cycle());
    expect_kept(
        subject,
        values.collect(),
        |event, ((payload, micros), manifest)| {
            event.payload = payload;
            event.timestamp = Timestamp::from_micros(micros);
            event.adapter_manifest = manifest.into();
        },
    )
    .await
}

async fn give_events_with_their_metadata(subject: Subject<dyn Journal>) -> CaseResult {
    let every_byte: Vec<u8> = (0..=255).collect();
    let values = vec![
        None,
        Some(Payload::new(0, "", "")),
        Some(Payload::new(u32::MAX, "", every_byte)),
        None,
        Some(Payload::new(1_001, "tck.m\u{e9}ta:v1", "m")),
    ];
    expect_kept(subject, values, |event, metadata| {
        event.metadata = metadata;
    })
    .await
}

async fn give_events_with_all_their_tags(subject: Subject<dyn Journal>) -> CaseResult {
    let values = vec![
        vec!["green"],
        vec![],
        vec!["green", "apple"],
        ODD_TEXTS.to_vec(),
        vec!["apple", "Green", "green"],
    ];
    expect_kept(subject, values, |event, tags| {
        *event = event.clone().with_tags(tags);
    })
    .await
}

async fn give_events_of_all_ids_and_writers(subject: Subject<dyn Journal>) -> CaseResult {
    let mut expected = store_in_turns(subject.store(), &odd_ids(), 1).await?;
    let mut first = Writer::holder_of(subject.store(), &tck_id(1)).await?;
    let mut by_first = first.events(1..=3);
    first.store(subject.store(), 3).await?;
    let mut second = Writer::holder_of(subject.store(), &tck_id(1)).await?;
    by_first.extend(second.events(4..=5));
    second.store(subject.store(), 2).await?;
    expected.extend(of_id(&first.id, by_first));
    for limit in [5, 1_000] {
        expect_events(subject.store(), all_events(limit), &expected).await?;
    }
    Ok(())
}

async fn give_nothing_of_writes_that_were_refused(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut writer = Writer::holder_of(journal, &tck_id(1)).await?;
    let zombie = Writer::stranger(&writer.id, WriterId::random(), 0);
    for _ in 0..10 {
        let number = writer.next;
        // Of another writer, and too far on.
        for refused in [zombie.single(number), writer.single(number + 1)] {
            conflict_in(&outcome_of(journal, refused).await?)?;
        }
        writer.store(journal, 1).await?;
    }
    let expected = of_id(&writer.id, writer.events(1..=10));
    for limit in [1, 100] {
        expect_events(journal, all_events(limit), &expected).await?;
    }
    Ok(())
}

async fn answer_after_many_dropped_event_queries(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let stored = store_in_turns(journal, &[tck_id(1)], 2).await?;
    // More often than any pool has connections.
    for turn in 0..40 {
        for polls in [0, 1, 2, 3, 5, 8] {
            let queries = event_queries(journal)?;
            poll_and_drop(queries.events(all_events(10)), polls + turn % 3).await;
            poll_and_drop(
                queries.newest_offset(&EventSelection::all()),
                polls + turn % 3,
            )
            .await;
        }
    }
    expect_events(journal, all_events(10), &stored)
        .await
        .map(drop)
}

/// Stores events in atomic writes where the journal can, and several writes of several ids in a call.
async fn give_the_events_of_an_id_in_order(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let ids: Vec<PersistenceId> = (0..12).map(tck_id).collect();
    let mut writers = Vec::new();
    for id in &ids {
        writers.push(Writer::holder_of(journal, id).await?);
    }
    for round in 0..4 {
        let mut writes = Vec::new();
        for writer in &mut writers {
            let numbers = writer.take(3);
            match journal.capabilities().atomic_batches && round % 2 == 0 {
                true => writes.push(writer.write(numbers)),
                false => writes.extend(numbers.map(|number| writer.single(number))),
            }
        }
        // The ids in turns, each in its order.
        writes.sort_by_key(|write| write.lowest_sequence_nr());
        expect_stored(journal, writes).await?;
    }
    let expected: Vec<_> = writers
        .iter()
        .flat_map(|writer| of_id(&writer.id, writer.events(1..=12)))
        .collect();
    for limit in [1, 2, 7, 100, 1_000] {
        expect_events(journal, all_events(limit), &expected).await?;
    }
    let of_one = expected.iter().filter(|(id, _)| *id == ids[3]);
    let slice = ids[3].slice();
    let mut query = all_events(2);
    query.selection = query.selection.of_slices(slice..=slice);
    expect_events(journal, query, of_one).await.map(drop)
}
