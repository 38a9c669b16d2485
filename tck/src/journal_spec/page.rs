//! Pages: their limits, what remains after them, and that reading changes nothing.

use actix_persistence_storage_api::{
    EventDeletion, EventRecord, Journal, PageLimit, Payload, ReplayPage, ReplayRange, SequenceNr,
};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect, expect_eq};
use crate::journal_steps::{
    ALL, MAX, expect_numbers, expect_records, expect_stored, numbers, page,
};
use crate::subject::Subject;
use crate::writer::{Writer, fresh_id, text};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        report_more_exactly_if_events_of_the_range_remain,
        ["J-REPLAY-1", "J-REPLAY-2", "J-REPLAY-4", "J-REPLAY-5"]
    ),
    case!(
        replay_page_by_page_without_gap_or_repetition,
        ["J-REPLAY-2", "J-REPLAY-4"]
    ),
    case!(limit_a_page_by_bytes, ["J-REPLAY-3", "J-REPLAY-4"]),
    case!(count_metadata_in_the_bytes_of_a_page, ["J-REPLAY-3"]).needing(Capability::Metadata),
    case!(
        give_an_event_larger_than_the_page_alone,
        ["J-REPLAY-3", "J-REPLAY-4"]
    ),
    case!(leave_no_trace_when_reading, ["J-REPLAY-7"]),
];

async fn report_more_exactly_if_events_of_the_range_remain(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let writer = subject.five_events().await?;
    for deleted_to in [0, 2] {
        journal
            .delete_messages_to(&writer.id, EventDeletion::up_to(deleted_to))
            .await?;
        for from in 0..=6 {
            for to in 0..=6 {
                for max_events in [0, 1, 2, 3, 5, 6] {
                    let found = page(journal, &writer.id, (from, to), max_events).await?;
                    let asked = format!(
                        "from {from} to {to}, at most {max_events}, deleted to {deleted_to}"
                    );
                    let wanted: Vec<_> = (deleted_to + 1..=5)
                        .filter(|number| (from..=to).contains(number))
                        .collect();
                    let given = &wanted[..max_events.min(wanted.len())];
                    let more = given.len() < wanted.len();
                    expect_eq(
                        format!("numbers {asked}"),
                        numbers(&found.events),
                        given.to_vec(),
                    )?;
                    expect_eq(format!("more {asked}"), found.more, more)?;
                    expect_eq(format!("deleted_to {asked}"), found.deleted_to, deleted_to)?;
                }
            }
        }
    }
    Ok(())
}

async fn replay_page_by_page_without_gap_or_repetition(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let mut writer = Writer::of_fresh_id(journal).await?;
    writer.store(journal, 25).await?;
    for max_events in [1, 7, 24, 25, 26] {
        let limit = PageLimit::events(max_events);
        let found = all_pages(journal, &writer, limit).await?;
        expect_records(&found, &writer.events(1..=25))?;
    }
    Ok(())
}

/// Reads page after page until nothing remains.
async fn all_pages(
    journal: &dyn Journal,
    writer: &Writer,
    limit: PageLimit,
) -> Result<Vec<EventRecord>, crate::failure::Failure> {
    let mut events: Vec<EventRecord> = Vec::new();
    loop {
        let from = events.last().map_or(1, |event| event.sequence_nr + 1);
        let range = ReplayRange::new(from, MAX);
        let page = journal.replay_messages(&writer.id, range, limit).await?;
        // Also so that a journal that returns one page again and again does not keep us for ever.
        let first = page.events.first().map(|event| event.sequence_nr);
        expect(
            first == Some(from) || (first.is_none() && !page.more),
            format!("a page from {from} on, found one that begins with {first:?}"),
        )?;
        expect(
            page.events.len() <= limit.max_events,
            format!("at most {} events in a page", limit.max_events),
        )?;
        events.extend(page.events);
        if !page.more {
            return Ok(events);
        }
    }
}

/// Returns a page with at most `max_bytes`, from the first event on.
async fn page_of_bytes(
    journal: &dyn Journal,
    writer: &Writer,
    max_bytes: usize,
) -> Result<ReplayPage, crate::failure::Failure> {
    let limit = PageLimit {
        max_events: ALL,
        max_bytes,
    };
    Ok(journal
        .replay_messages(&writer.id, ReplayRange::ALL, limit)
        .await?)
}

/// Writes five events of this payload and metadata, and expects pages to keep to their bytes.
async fn expect_pages_within_bytes(
    journal: &dyn Journal,
    payload: &Payload,
    metadata: Option<&Payload>,
) -> CaseResult {
    let mut writer = Writer::of_fresh_id(journal).await?;
    let mut writes = Vec::new();
    for number in writer.take(5) {
        let mut event = writer.event(number);
        event.payload = payload.clone();
        event.metadata = metadata.cloned();
        writes.push(writer.write_of(vec![event]));
    }
    expect_stored(journal, writes).await?;
    let size = payload.len() + metadata.map_or(0, Payload::len);
    for max_bytes in [size, 2 * size + size / 2, 3 * size, 5 * size] {
        let found = page_of_bytes(journal, &writer, max_bytes).await?;
        let bytes: usize = found.events.iter().map(EventRecord::size).sum();
        let count = found.events.len() as SequenceNr;
        expect(
            (1..=max_bytes).contains(&bytes),
            format!("a page of some, and at most {max_bytes} bytes, found {bytes}"),
        )?;
        let given: Vec<_> = (1..=count).collect();
        expect_eq("numbers", numbers(&found.events), given)?;
        expect_eq("more", found.more, count < 5)?;
    }
    let limit = PageLimit {
        max_events: ALL,
        max_bytes: 2 * size + size / 2,
    };
    let found = numbers(&all_pages(journal, &writer, limit).await?);
    expect_eq("numbers of all pages", found, (1..=5).collect())
}

async fn limit_a_page_by_bytes(subject: Subject<dyn Journal>) -> CaseResult {
    expect_pages_within_bytes(subject.store(), &text("0123456789"), None).await
}

async fn count_metadata_in_the_bytes_of_a_page(subject: Subject<dyn Journal>) -> CaseResult {
    let (payload, metadata) = (text("01"), text("23456789"));
    expect_pages_within_bytes(subject.store(), &payload, Some(&metadata)).await
}

async fn give_an_event_larger_than_the_page_alone(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let writer = subject.five_events().await?;
    for max_bytes in [0, 1, 2] {
        let found = page_of_bytes(journal, &writer, max_bytes).await?;
        expect_eq("numbers", numbers(&found.events), vec![1])?;
        expect_eq("more", found.more, true)?;
    }
    let limit = PageLimit {
        max_events: ALL,
        max_bytes: 0,
    };
    let found = all_pages(journal, &writer, limit).await?;
    expect_records(&found, &writer.events(1..=5))
}

async fn leave_no_trace_when_reading(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let unseen = fresh_id();
    page(journal, &unseen, (1, MAX), ALL).await?;
    journal.read_highest_sequence_nr(&unseen).await?;
    let first = Writer::holder_of(journal, &unseen).await?;
    expect_eq("epoch after reading", first.taken.epoch, 1)?;

    let mut writer = subject.five_events().await?;
    expect_numbers(journal, &writer.id, 1..=5).await?;
    journal.read_highest_sequence_nr(&writer.id).await?;
    writer.store(journal, 1).await?;
    expect_numbers(journal, &writer.id, 1..=6).await
}
