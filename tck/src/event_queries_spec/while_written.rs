//! The events that readers get while many writers write.

use std::sync::Arc;

use actix_persistence_storage_api::{
    EventDeletion, EventRecord, EventSelection, EventsQuery, Journal, PersistenceId, WriterId,
};
use tokio::task::yield_now;

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::event_query_steps::{
    EventOfId, EventReader, all_events, event_queries, expect_given, of_id,
};
use crate::failure::{CaseResult, Failure};
use crate::journal_steps::{conflict_in, expect_stored, outcome_of};
use crate::parallel::in_parallel;
use crate::query_steps::tck_id;
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(give_each_event_once_while_many_write, ["E-EVENTS-6"]).needing(Capability::EventQueries),
    case!(give_each_tagged_event_once_while_many_write, ["E-EVENTS-6"])
        .needing(Capability::EventQueries)
        .needing(Capability::Tags),
    case!(
        give_what_is_left_while_many_write_and_delete,
        ["E-EVENTS-6"]
    )
    .needing(Capability::EventQueries),
];

const WRITERS: usize = 8;
/// Of each id that a writer writes.
const EVENTS: u64 = 24;

/// Reads in pages of several sizes while events are written, and expects that each reader gets each event of its selection
/// once.
async fn read_while_written(
    subject: Subject<dyn Journal>,
    change: fn(EventRecord) -> EventRecord,
    selections: Vec<EventSelection>,
) -> CaseResult {
    let journals = [subject.share(), subject.another().await?];
    let readers_journal = subject.another().await?;
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let ids = [
                tck_id(number),
                PersistenceId::of("Other", &number.to_string()),
            ];
            write(journals[number % 2].clone(), ids, change)
        })
        .collect();
    let writers = tokio::spawn(in_parallel(writers));
    let queries = selections
        .into_iter()
        .zip([1, 100, 3, 17].into_iter().cycle())
        .map(|(selection, limit)| EventsQuery::new(selection, limit));
    let mut readers: Vec<_> = queries.map(EventReader::new).collect();
    while !writers.is_finished() {
        for reader in &mut readers {
            reader.read(&*readers_journal).await?;
        }
        yield_now().await;
    }
    let stored: Vec<_> = writers.await??.into_iter().flatten().collect();
    for reader in &mut readers {
        let newest = event_queries(subject.store())?.newest_offset(&reader.query.selection);
        reader.read_to(&*readers_journal, &newest.await?).await?;
        let selection = &reader.query.selection;
        let selected = stored
            .iter()
            .filter(|(id, event)| selection.selects(id, event));
        expect_given(&reader.given, selected)?;
    }
    Ok(())
}

/// Stores events of both ids in calls of their own and together, alone and in atomic writes, with some that are refused.
async fn write(
    journal: Arc<dyn Journal>,
    ids: [PersistenceId; 2],
    change: fn(EventRecord) -> EventRecord,
) -> Result<Vec<EventOfId>, Failure> {
    let journal = &*journal;
    let mut writers = [
        Writer::holder_of(journal, &ids[0]).await?,
        Writer::holder_of(journal, &ids[1]).await?,
    ];
    let mut stored = Vec::new();
    for round in 0..EVENTS / 2 {
        let mut writes = Vec::new();
        for writer in &mut writers {
            let numbers = writer.take(2);
            let events: Vec<_> = numbers.map(|number| change(writer.event(number))).collect();
            stored.extend(of_id(&writer.id, events.clone()));
            match journal.capabilities().atomic_batches && round % 2 == 0 {
                true => writes.push(writer.write_of(events)),
                false => {
                    writes.extend(events.into_iter().map(|event| writer.write_of(vec![event])))
                }
            }
        }
        match round % 3 {
            0 => expect_stored(journal, writes).await?,
            _ => {
                for write in writes {
                    expect_stored(journal, vec![write]).await?;
                }
            }
        }
        let zombie = Writer::stranger(&ids[0], WriterId::random(), 0);
        conflict_in(&outcome_of(journal, zombie.single(writers[0].next)).await?)?;
        yield_now().await;
    }
    Ok(stored)
}

async fn give_each_event_once_while_many_write(subject: Subject<dyn Journal>) -> CaseResult {
    let all = EventSelection::all();
    let selections = vec![
        all.clone(),
        all.clone(),
        all.clone().of_slices(0..=511),
        all.clone().of_slices(512..=1_023),
        all.clone().of_entity_type("Other"),
        all.clone().with_manifest("tck.text:v1"),
        all.with_manifest("tck.absent:v1"),
    ];
    read_while_written(subject, |event| event, selections).await
}

async fn give_each_tagged_event_once_while_many_write(subject: Subject<dyn Journal>) -> CaseResult {
    let tagged = |event: EventRecord| match event.sequence_nr % 3 {
        0 => event.with_tags(["green"]),
        1 => event.with_tags(["apple", "green"]),
        _ => event,
    };
    let all = EventSelection::all();
    let selections = vec![
        all.clone().with_tag("green"),
        all.clone().with_tag("apple"),
        all.clone().with_tag("green").of_slices(0..=511),
        all.clone().with_tag("apple").of_entity_type("Other"),
        all,
    ];
    read_while_written(subject, tagged, selections).await
}

async fn give_what_is_left_while_many_write_and_delete(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let readers_journal = subject.another().await?;
    let writers = (0..WRITERS).map(|number| {
        let journal = subject.share();
        async move {
            let mut writer = Writer::holder_of(&*journal, &tck_id(number)).await?;
            for _ in 0..EVENTS / 4 {
                writer.store(&*journal, 4).await?;
                // The last four are left for good.
                let deletion = EventDeletion::up_to((writer.next - 1).min(EVENTS - 4));
                journal.delete_messages_to(&writer.id, deletion).await?;
                yield_now().await;
            }
            Ok(of_id(&writer.id, writer.events(EVENTS - 3..=EVENTS)))
        }
    });
    let writers = tokio::spawn(in_parallel(writers.collect::<Vec<_>>()));
    let mut readers = [1, 3, 100].map(|limit| EventReader::new(all_events(limit)));
    while !writers.is_finished() {
        for reader in &mut readers {
            reader.read(&*readers_journal).await?;
        }
        yield_now().await;
    }
    let left: Vec<_> = writers.await??.into_iter().flatten().collect();
    for reader in &mut readers {
        reader.read_to_newest(&*readers_journal).await?;
        // Others may have been read before they were deleted.
        let was_left = |number: u64| number > EVENTS - 4;
        reader
            .given
            .retain(|given| was_left(given.event.sequence_nr));
        expect_given(&reader.given, &left)?;
    }
    Ok(())
}
