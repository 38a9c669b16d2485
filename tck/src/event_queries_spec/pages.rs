//! Pages: how many events they hold, and what they say of those that follow.

use actix_persistence_storage_api::{EventSelection, EventsQuery, Journal, Payload};

use crate::bytes_like_random::bytes_like_random;
use crate::capability::Capability;
use crate::case::{Case, case};
use crate::event_query_steps::{
    EventReader, all_events, event_queries, expect_events, expect_given, of_id, settled,
    store_events, store_in_turns,
};
use crate::failure::{CaseResult, expect, expect_eq};
use crate::query_steps::tck_id;
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(give_no_more_events_than_asked_for, ["E-EVENTS-4"]).needing(Capability::EventQueries),
    case!(stay_where_they_are_with_a_limit_of_0, ["E-EVENTS-4"]).needing(Capability::EventQueries),
    case!(
        give_all_events_even_if_they_are_large,
        ["E-EVENTS-4", "E-EVENTS-7"]
    )
    .needing(Capability::EventQueries),
    case!(say_more_unless_everything_was_returned, ["E-EVENTS-7"])
        .needing(Capability::EventQueries),
    case!(
        give_the_few_events_of_many_that_are_selected,
        ["E-EVENTS-7"]
    )
    .needing(Capability::EventQueries),
];

async fn give_no_more_events_than_asked_for(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let stored = store_in_turns(journal, &[1, 2, 3, 4].map(tck_id), 5).await?;
    // Every page is checked while it is read.
    for limit in [1, 2, 7, 19, 20, 21, usize::MAX] {
        expect_events(journal, all_events(limit), &stored).await?;
    }
    Ok(())
}

async fn stay_where_they_are_with_a_limit_of_0(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let stored = store_in_turns(journal, &[1, 2].map(tck_id), 3).await?;
    let found = expect_events(journal, all_events(10), &stored).await?;
    let offsets = found.into_iter().map(|given| given.offset);
    let all = EventSelection::all();
    let newest = event_queries(journal)?.newest_offset(&all).await?;
    let start = all_events(0).after;
    for after in offsets.chain([start, newest]) {
        let query = all_events(0).after(after.clone());
        let page = event_queries(journal)?.events(query).await?;
        expect_eq("events of a page of 0", page.events.len(), 0)?;
        expect_eq("its offset", page.offset, after)?;
    }
    Ok(())
}

async fn give_all_events_even_if_they_are_large(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let most = journal.capabilities().max_event_bytes.unwrap_or(usize::MAX);
    let writer = Writer::holder_of(journal, &tck_id(1)).await?;
    let events = (1..=16).map(|number| {
        let mut event = writer.event(number);
        // Large ones and small ones.
        let size = if number % 4 == 0 {
            3
        } else {
            most.min(500_000)
        };
        event.payload = Payload::new(1_000, "tck.bytes:v1", bytes_like_random(size));
        event
    });
    let stored = store_events(journal, &writer, events.collect()).await?;
    for limit in [1, 5, usize::MAX] {
        expect_events(journal, all_events(limit), &stored).await?;
    }
    Ok(())
}

async fn say_more_unless_everything_was_returned(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let stored = store_in_turns(journal, &[1, 2, 3].map(tck_id), 4).await?;
    settled(journal).await?;
    for limit in 1..=13 {
        let mut reader = EventReader::new(all_events(limit));
        let mut pages = 0;
        while reader.read(journal).await?.more {
            pages += 1;
            expect(pages <= 100, "an end of pages that say that there is more")?;
        }
        expect_given(&reader.given, &stored)?;
        let page = reader.read(journal).await?;
        expect_eq("events after the last page", page.events.len(), 0)?;
    }
    Ok(())
}

async fn give_the_few_events_of_many_that_are_selected(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let mut of_many = Writer::holder_of(journal, &tck_id(1)).await?;
    let mut of_few = Writer::holder_of(journal, &tck_id(2)).await?;
    for _ in 0..5 {
        of_many.store(journal, 300).await?;
        let mut event = of_few.event(of_few.next);
        event.payload.manifest = "tck.rare:v1".into();
        of_few.next += 1;
        store_events(journal, &of_few, vec![event]).await?;
    }
    of_many.store(journal, 300).await?;
    let mut expected = of_id(&of_few.id, of_few.events(1..=5));
    for (_, event) in &mut expected {
        event.payload.manifest = "tck.rare:v1".into();
    }
    for limit in [1, 2, 100] {
        let selection = EventSelection::all().with_manifest("tck.rare:v1");
        expect_events(journal, EventsQuery::new(selection, limit), &expected).await?;
    }
    Ok(())
}
