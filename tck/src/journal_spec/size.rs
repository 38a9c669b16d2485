//! Events of every size.

use actix_persistence_storage_api::{
    EventRecord, Journal, Payload, StorageErrorKind, WriteOutcome,
};

use crate::bytes_like_random::bytes_like_random;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect};
use crate::journal_steps::{
    expect_records, expect_rejected, expect_skipped, expect_stored, outcomes_of, replayed,
};
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        store_an_event_of_any_size_whole_or_reject_it_as_too_large,
        ["J-WRITE-9", "J-WRITE-6", "J-WRITE-7"]
    ),
    case!(
        store_many_large_events_in_one_call,
        ["J-WRITE-9", "J-WRITE-1"]
    ),
];

/// The largest event that the kit makes in order to see it rejected.
const LARGEST: usize = 64 * 1024 * 1024;

fn event_of_size(writer: &Writer, number: u64, size: usize) -> EventRecord {
    let mut event = writer.event(number);
    event.payload = Payload::new(1_000, "tck.bytes:v1", bytes_like_random(size));
    event
}

async fn store_an_event_of_any_size_whole_or_reject_it_as_too_large(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let limit = subject.store().capabilities().max_event_bytes;
    let mut sizes = vec![0, 1, 10_000, 1024 * 1024];
    // Right at the limit, and right above it.
    sizes.extend(limit.filter(|&limit| limit < LARGEST));
    sizes.extend(
        limit
            .filter(|&limit| limit < LARGEST)
            .map(|limit| limit + 1),
    );
    for size in sizes {
        if limit.is_none_or(|limit| size <= limit) {
            expect_stored_whole(subject.store(), size).await?;
        } else {
            expect_too_large(subject.store(), size).await?;
        }
    }
    let journal = subject.store();
    let writer = Writer::of_fresh_id(journal).await?;
    let event = event_of_size(&writer, 1, limit.unwrap_or(LARGEST).min(1024 * 1024));
    expect_stored(journal, vec![writer.write_of(vec![event.clone()])]).await?;
    let subject = subject.restart().await?;
    expect_records(&replayed(subject.store(), &writer.id).await?, &[event])
}

async fn expect_stored_whole(journal: &dyn Journal, size: usize) -> CaseResult {
    let writer = Writer::of_fresh_id(journal).await?;
    let events = [
        event_of_size(&writer, 1, size),
        writer.event(2),
        event_of_size(&writer, 3, size),
    ];
    let writes = events
        .iter()
        .map(|event| writer.write_of(vec![event.clone()]))
        .collect();
    expect_stored(journal, writes).await?;
    expect_records(&replayed(journal, &writer.id).await?, &events)
}

async fn expect_too_large(journal: &dyn Journal, size: usize) -> CaseResult {
    let mut writer = Writer::of_fresh_id(journal).await?;
    let neighbour = Writer::of_fresh_id(journal).await?;
    let large = event_of_size(&writer, 2, size);
    let outcomes = outcomes_of(
        journal,
        vec![
            writer.single(1),
            writer.write_of(vec![large]),
            writer.single(3),
            neighbour.single(1),
        ],
    )
    .await?;
    let stored = WriteOutcome::is_stored;
    expect(stored(&outcomes[0]), "the event before it to be stored")?;
    expect_rejected(&outcomes[1], StorageErrorKind::TooLarge)?;
    expect_skipped(&outcomes[2])?;
    expect(stored(&outcomes[3]), "the event of another id to be stored")?;
    writer.expect_events(journal, 1..=1).await?;
    neighbour.expect_events(journal, 1..=1).await?;
    // The number of the rejected event goes to the next one.
    writer.next = 2;
    writer.store(journal, 2).await?;
    writer.expect_events(journal, 1..=3).await
}

async fn store_many_large_events_in_one_call(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let limit = journal.capabilities().max_event_bytes;
    let size = limit.unwrap_or(usize::MAX).min(256 * 1024);
    let writer = Writer::of_fresh_id(journal).await?;
    let events: Vec<_> = (1..=8)
        .map(|number| event_of_size(&writer, number, size))
        .collect();
    let writes = events
        .iter()
        .map(|event| writer.write_of(vec![event.clone()]))
        .collect();
    expect_stored(journal, writes).await?;
    expect_records(&replayed(journal, &writer.id).await?, &events)
}
