//! Tests of reads that wait at the same time, which may share a statement: each gets what it would get alone.

use std::collections::HashMap;
use std::sync::Arc;

use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, PageLimit, Payload, PersistenceId, ReplayPage,
    ReplayRange, SequenceNr, StorageError, StorageErrorKind, StreamHead, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use futures_util::future::{join, join_all};

use crate::steps::{assert_error, event, id, replay_all, store};
use crate::{OnServer, Tables};

/// The number of logs, some of which have no events.
const LOGS: u64 = 40;

fn log(number: u64) -> PersistenceId {
    id(&number.to_string())
}

fn one_of<T: Copy>(values: &[T]) -> T {
    values[fastrand::usize(..values.len())]
}

/// Fills logs of all lengths with events of all sizes, some with tags and metadata, and deletes some of them.
async fn fill(journal: &dyn Journal) {
    for number in 1..LOGS {
        let id = log(number);
        let length = one_of(&[0, 1, 5, 100, 127, 128, 129, 140]);
        let writer = WriterId::random();
        let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
        let largest = one_of(&[10, 300, 5_000]);
        let events = (1..=length).map(|number| {
            let mut event = event(
                number,
                writer,
                vec![number as u8; fastrand::usize(..largest)],
            );
            if fastrand::u8(..4) == 0 {
                event = event.with_tags(["a", "b"]);
            }
            if fastrand::u8(..4) == 0 {
                event = event.with_metadata(Payload::new(2, "meta", vec![7; largest / 2]));
            }
            event
        });
        if length > 0 {
            let write = AtomicWrite::new(id.clone(), epoch, events.collect()).unwrap();
            let outcomes = journal.write_messages(vec![write]).await.unwrap();
            assert!(outcomes[0].is_stored(), "{outcomes:?}");
        }
        if fastrand::bool() {
            let deletion = EventDeletion::up_to(fastrand::u64(..=length));
            journal.delete_messages_to(&id, deletion).await.unwrap();
        }
    }
}

type Request = (PersistenceId, ReplayRange, PageLimit);

fn some_request() -> Request {
    let limit = PageLimit {
        max_events: one_of(&[0, 1, 5, 1_000]),
        max_bytes: one_of(&[0, 500, 100_000, usize::MAX]),
    };
    let from = fastrand::u64(..150);
    let to = one_of(&[
        from.saturating_sub(1),
        from + 3,
        from + 127,
        from + 128,
        u64::MAX,
    ]);
    (
        log(fastrand::u64(..LOGS)),
        ReplayRange::new(from, to),
        limit,
    )
}

async fn read(journal: &dyn Journal, request: &Request) -> Result<ReplayPage, StorageError> {
    let (id, range, limit) = request;
    journal.replay_messages(id, *range, *limit).await
}

/// Reads pages and heads of many ids at once, and one after the other.
pub async fn reads_that_wait_together_get_what_each_gets_alone(place: &dyn Tables) {
    let section = place.section().with("read-connections", 2);
    let journal = place.journal_with(section).await;
    fill(&*journal).await;
    for _ in 0..5 {
        let requests: Vec<_> = (0..60).map(|_| some_request()).collect();
        let pages = join_all(requests.iter().map(|request| read(&*journal, request)));
        let ids: Vec<_> = (0..LOGS).map(log).collect();
        let heads = join_all(ids.iter().map(|id| journal.read_head(id)));
        let (pages, heads) = join(pages, heads).await;
        for (request, page) in requests.iter().zip(pages) {
            let alone = read(&*journal, request).await.unwrap();
            assert_eq!(page.unwrap(), alone, "{request:?}");
        }
        for (id, head) in ids.iter().zip(heads) {
            assert_eq!(
                head.unwrap(),
                journal.read_head(id).await.unwrap(),
                "{id:?}"
            );
        }
    }
}

/// Damages an event of one log: the others are read.
pub async fn a_row_that_cannot_be_read_fails_no_read_beside_it(place: &dyn Tables) {
    let section = place.section().with("read-connections", 1);
    let journal = place.journal_with(section).await;
    for number in 0..20 {
        store(&*journal, &log(number), 3).await;
    }
    place
        .run("UPDATE event_journal SET checksum = 4294967297 WHERE persistence_id = 'Test|7' AND sequence_nr = 2")
        .await;
    let ids: Vec<_> = (0..20).map(log).collect();
    let pages = ids.iter().map(|id| {
        let range = ReplayRange::new(1, 10);
        journal.replay_messages(id, range, PageLimit::DEFAULT)
    });
    for (id, page) in ids.iter().zip(join_all(pages).await) {
        if *id == log(7) {
            let error = page.unwrap_err();
            assert_error(&error, StorageErrorKind::Corrupt, "sequence number 2");
            assert_eq!(error.persistence_id(), Some(id));
        } else {
            assert_eq!(page.unwrap().events.len(), 3, "{id:?}");
        }
    }
}

/// Deletes events, and drops some of the callers, while pages are read: each page is of one moment.
pub async fn events_deleted_beside_shared_reads_are_left_out_of_whole_pages(place: &dyn Tables) {
    const LENGTH: u64 = 60;
    const IDS: u64 = 12;
    let section = place.section().with("read-connections", 2);
    let journal = place.journal_with(section).await;
    for number in 0..IDS {
        let (id, writer) = (log(number), WriterId::random());
        let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
        let events = (1..=LENGTH).map(|number| event(number, writer, "x").with_tags(["t"]));
        let write = AtomicWrite::new(id, epoch, events.collect()).unwrap();
        let outcomes = journal.write_messages(vec![write]).await.unwrap();
        assert!(outcomes[0].is_stored());
    }
    let deleter = tokio::spawn({
        let journal = Arc::clone(&journal);
        async move {
            for to in 1..LENGTH {
                let id = log(to % IDS);
                let deletion = EventDeletion::up_to(to);
                journal.delete_messages_to(&id, deletion).await.unwrap();
            }
        }
    });
    while !deleter.is_finished() {
        let reads = (0..IDS).map(|number| {
            let journal = Arc::clone(&journal);
            tokio::spawn(async move {
                let range = ReplayRange::new(1, LENGTH);
                let limit = PageLimit::DEFAULT;
                journal.replay_messages(&log(number), range, limit).await
            })
        });
        let reads: Vec<_> = reads.collect();
        for read in reads {
            if fastrand::u8(..4) == 0 {
                read.abort();
                continue;
            }
            let page = read.await.unwrap().unwrap();
            let numbers: Vec<_> = page.events.iter().map(|event| event.sequence_nr).collect();
            let expected: Vec<SequenceNr> = (page.deleted_to + 1..=LENGTH).collect();
            assert_eq!(numbers, expected);
            assert!(page.events.iter().all(|event| event.tags.len() == 1));
        }
    }
    deleter.await.unwrap();
}

/// Ends the sessions of the store while reads wait and run: each fails, or is what is stored.
pub async fn reads_that_share_a_session_that_ends_fail_or_are_whole(place: &dyn OnServer) {
    let section = place.section().with("read-connections", 2);
    let journal = place.journal_with(section).await;
    let mut stored: HashMap<PersistenceId, (ReplayPage, StreamHead)> = HashMap::new();
    for number in 0..30 {
        let id = log(number);
        store(&*journal, &id, 1 + number).await;
        let head = journal.read_head(&id).await.unwrap();
        stored.insert(id.clone(), (replay_all(&*journal, &id).await, head));
    }
    let mut whole = 0;
    // A read that shared a session which ended may be asked again, so that no number of failures is certain.
    for _ in 0..40 {
        let reads = stored.iter().map(async |(id, (page, head))| {
            let range = ReplayRange::new(1, 100);
            let read = journal.replay_messages(id, range, PageLimit::DEFAULT).await;
            let page_is_there = read.map(|read| assert_eq!(read, *page)).is_ok();
            let read = journal.read_head(id).await;
            let head_is_there = read.map(|read| assert_eq!(read, *head)).is_ok();
            [page_is_there, head_is_there]
        });
        let ended = async {
            for _ in 0..fastrand::u8(..3) {
                tokio::task::yield_now().await;
            }
            place.end_sessions().await;
        };
        let (reads, ()) = join(join_all(reads), ended).await;
        whole += reads
            .into_iter()
            .flatten()
            .filter(|is_there| *is_there)
            .count();
    }
    assert!(whole > 0, "no read outlived the end of a session");
    // Nothing is left of it.
    loop {
        let reads = stored.keys().map(|id| journal.read_head(id));
        if join_all(reads).await.iter().all(Result::is_ok) {
            break;
        }
    }
}
