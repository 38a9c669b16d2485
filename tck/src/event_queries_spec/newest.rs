//! The offset that everything is before which was confirmed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use actix_persistence_storage_api::{EventOffset, EventSelection, EventsQuery, Journal};
use tokio::task::{JoinHandle, yield_now};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::event_query_steps::{
    EventReader, all_events, event_queries, expect_events, expect_given, store_in_turns,
};
use crate::failure::{CaseResult, Failure, expect};
use crate::parallel::in_parallel;
use crate::query_steps::tck_id;
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        reach_the_newest_offset_with_all_that_was_stored,
        ["E-NEWEST-1"]
    )
    .needing(Capability::EventQueries),
    case!(
        reach_the_newest_offset_with_all_confirmed_while_many_write,
        ["E-NEWEST-1"]
    )
    .needing(Capability::EventQueries),
    case!(
        give_from_the_newest_offset_what_is_stored_later,
        ["E-NEWEST-1", "E-NEWEST-2"]
    )
    .needing(Capability::EventQueries),
    case!(
        give_from_the_newest_offset_what_is_begun_while_many_write,
        ["E-NEWEST-2"]
    )
    .needing(Capability::EventQueries),
];

async fn newest_offset(journal: &dyn Journal) -> Result<EventOffset, Failure> {
    let all = EventSelection::all();
    Ok(event_queries(journal)?.newest_offset(&all).await?)
}

async fn reach_the_newest_offset_with_all_that_was_stored(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let mut of_nothing = EventReader::new(all_events(1));
    of_nothing.read_to_newest(journal).await?;
    let ids = [1, 2, 3].map(tck_id);
    let mut stored = Vec::new();
    let of_one = EventSelection::all().of_slices(ids[1].slice()..=ids[1].slice());
    let selections = [EventSelection::all(), of_one];
    let mut readers: Vec<_> = selections
        .iter()
        .flat_map(|selection| [1, 100].map(|limit| EventsQuery::new(selection.clone(), limit)))
        .map(EventReader::new)
        .collect();
    let mut writers = Vec::new();
    for id in &ids {
        writers.push(Writer::holder_of(journal, id).await?);
    }
    for _ in 0..4 {
        for writer in &mut writers {
            stored.push((writer.id.clone(), writer.event(writer.next)));
            writer.store(journal, 1).await?;
            for reader in &mut readers {
                let newest = event_queries(journal)?.newest_offset(&reader.query.selection);
                reader.read_to(journal, &newest.await?).await?;
                let selection = &reader.query.selection;
                let selected = stored
                    .iter()
                    .filter(|(id, event)| selection.selects(id, event));
                expect_given(&reader.given, selected)?;
            }
        }
    }
    Ok(())
}

const WRITERS: usize = 6;

/// Starts writers that note each event before they store it and after that.
#[derive(Clone, Default)]
struct Noted {
    begun: Arc<Mutex<Vec<(usize, u64)>>>,
    confirmed: Arc<Mutex<Vec<(usize, u64)>>>,
}

impl Noted {
    async fn write(self, journal: Arc<dyn Journal>, number: usize) -> CaseResult {
        let mut writer = Writer::holder_of(&*journal, &tck_id(number)).await?;
        for event in 1..=20 {
            self.begun
                .lock()
                .expect("nothing panics")
                .push((number, event));
            writer.store(&*journal, 1).await?;
            self.confirmed
                .lock()
                .expect("nothing panics")
                .push((number, event));
            yield_now().await;
        }
        Ok(())
    }

    fn writers(&self, journal: &Arc<dyn Journal>) -> JoinHandle<Result<Vec<()>, Failure>> {
        let writers = (0..WRITERS).map(|number| self.clone().write(Arc::clone(journal), number));
        tokio::spawn(in_parallel(writers.collect::<Vec<_>>()))
    }
}

/// Expects these events among those that a reader was given.
fn expect_among(reader: &EventReader, expected: &[(usize, u64)]) -> CaseResult {
    let given: HashSet<_> = reader
        .given
        .iter()
        .map(|given| (given.persistence_id.clone(), given.event.sequence_nr))
        .collect();
    for (number, event) in expected {
        let found = given.contains(&(tck_id(*number), *event));
        expect(found, format!("event {event} of {:?}", tck_id(*number)))?;
    }
    Ok(())
}

async fn reach_the_newest_offset_with_all_confirmed_while_many_write(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let noted = Noted::default();
    let elsewhere = subject.another().await?;
    let writers = noted.writers(&elsewhere);
    let mut reader = EventReader::new(all_events(2));
    loop {
        let ended = writers.is_finished();
        let confirmed = noted.confirmed.lock().expect("nothing panics").clone();
        let newest = newest_offset(subject.store()).await?;
        reader.read_to(subject.store(), &newest).await?;
        expect_among(&reader, &confirmed)?;
        if ended {
            break;
        }
        yield_now().await;
    }
    writers.await?.map(drop)
}

async fn give_from_the_newest_offset_what_is_stored_later(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let mut offsets = vec![newest_offset(journal).await?];
    let mut stored = Vec::new();
    for number in 1..=4 {
        stored.push(store_in_turns(journal, &[tck_id(number)], 3).await?);
        offsets.push(newest_offset(journal).await?);
    }
    for (place, after) in offsets.into_iter().enumerate() {
        let later = stored[place..].concat();
        for limit in [1, 100] {
            let query = all_events(limit).after(after.clone());
            expect_events(journal, query, &later).await?;
        }
    }
    Ok(())
}

async fn give_from_the_newest_offset_what_is_begun_while_many_write(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let noted = Noted::default();
    let elsewhere = subject.another().await?;
    let first = newest_offset(subject.store()).await?;
    let mut readers = vec![(EventReader::new(all_events(5).after(first)), 0)];
    let writers = noted.writers(&elsewhere);
    while !writers.is_finished() {
        let newest = newest_offset(subject.store()).await?;
        let begun = noted.begun.lock().expect("nothing panics").len();
        let reader = EventReader::new(all_events(50).after(newest));
        if readers.len() < 20 {
            readers.push((reader, begun));
        }
        for (reader, _) in &mut readers {
            reader.read(subject.store()).await?;
        }
        yield_now().await;
    }
    writers.await??;
    let all = noted.begun.lock().expect("nothing panics").clone();
    for (reader, begun) in &mut readers {
        reader.read_to_newest(subject.store()).await?;
        expect_among(reader, &all[*begun..])?;
    }
    Ok(())
}
