//! Tests of pages of a replay: small and large events, limits, odd ranges.

use std::sync::Arc;

use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, EventRecord, Journal, PageLimit, Payload, ReplayPage, ReplayRange,
    SequenceNr, Timestamp, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::Tables;
use crate::steps::{event, id, numbers, replay_all, store};

/// A database stores such a payload beside its row, or reads it by a statement of its own.
const LARGE: usize = 16 * 1024;

async fn store_events(
    journal: &dyn Journal,
    make: impl Fn(u64, WriterId) -> EventRecord,
    number: u64,
) {
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    let events = (1..=number).map(|number| make(number, writer)).collect();
    let write = AtomicWrite::new(id("a"), epoch, events).unwrap();
    let outcomes = journal.write_messages(vec![write]).await.unwrap();
    assert!(outcomes[0].is_stored());
}

async fn page(
    journal: &dyn Journal,
    from: SequenceNr,
    max_events: usize,
    max_bytes: usize,
) -> ReplayPage {
    let limit = PageLimit {
        max_events,
        max_bytes,
    };
    let range = ReplayRange::new(from, SequenceNr::MAX);
    journal
        .replay_messages(&id("a"), range, limit)
        .await
        .unwrap()
}

fn shape(page: &ReplayPage) -> (Vec<SequenceNr>, bool) {
    let numbers = page.events.iter().map(|event| event.sequence_nr);
    (numbers.collect(), page.more)
}

/// Events of all sizes, with tags and metadata.
pub async fn small_and_large_events_come_back_whole_and_in_order(place: &dyn Tables) {
    let journal = place.journal().await;
    let sizes = [1, LARGE, LARGE + 1, 0, 500_000, 3, 1024 * 1024, LARGE - 1];
    let make = |number: u64, writer| {
        let size = sizes[number as usize - 1];
        let metadata = Payload::new(2, "meta", vec![number as u8 + 100; size / 2]);
        let event = event(number, writer, vec![number as u8; size]).with_tags(["t"]);
        if number.is_multiple_of(2) {
            event.with_metadata(metadata)
        } else {
            event
        }
    };
    store_events(&*journal, make, sizes.len() as u64).await;
    let page = replay_all(&*journal, &id("a")).await;
    assert_eq!(page.events.len(), sizes.len());
    for found in &page.events {
        assert_eq!(*found, make(found.sequence_nr, found.writer));
    }
}

/// Limits at, below and above the number and the bytes of the events.
pub async fn a_page_keeps_to_both_limits_and_tells_whether_there_is_more(place: &dyn Tables) {
    let journal = place.journal().await;
    store_events(
        &*journal,
        |number, writer| event(number, writer, vec![0; 100]),
        5,
    )
    .await;
    for (from, max_events, max_bytes, numbers, more) in [
        (1, 10, 1_000, vec![1, 2, 3, 4, 5], false),
        (1, 5, 500, vec![1, 2, 3, 4, 5], false),
        (1, 4, 500, vec![1, 2, 3, 4], true),
        (1, 5, 499, vec![1, 2, 3, 4], true),
        (1, 5, 0, vec![1], true),
        (5, 5, 0, vec![5], false),
        (4, 1, 99, vec![4], true),
        (1, 0, 500, vec![], true),
        (6, 0, 500, vec![], false),
        (6, 5, 500, vec![], false),
        (0, 1, 500, vec![1], true),
    ] {
        let page = page(&*journal, from, max_events, max_bytes).await;
        assert_eq!(
            shape(&page),
            (numbers, more),
            "from {from}, {max_events}, {max_bytes}"
        );
    }
}

/// SQLite returns up to 128 events in one row.
pub async fn a_page_tells_whether_there_is_more_wherever_its_last_row_ends(place: &dyn Tables) {
    let journal = place.journal().await;
    for stored in [127, 128, 129, 255, 256, 257] {
        let id = id(&format!("a{stored}"));
        let writer = WriterId::random();
        let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
        let events = (1..=stored).map(|number| event(number, writer, "x"));
        let write = AtomicWrite::new(id.clone(), epoch, events.collect()).unwrap();
        let outcomes = journal.write_messages(vec![write]).await.unwrap();
        assert!(outcomes[0].is_stored());
        for max_events in [126, 127, 128, 129, 254, 255, 256, 257, 258] {
            for to in [stored - 1, stored, SequenceNr::MAX] {
                let limit = PageLimit::events(max_events);
                let range = ReplayRange::new(1, to);
                let page = journal.replay_messages(&id, range, limit).await;
                let last = to.min(stored);
                let given = last.min(max_events as u64);
                let expected = ((1..=given).collect(), given < last);
                let found = shape(&page.unwrap());
                assert_eq!(found, expected, "{max_events} of {stored} up to {to}");
            }
        }
    }
}

/// Checks that tags come with their events, although those of another id, which have tags, too, are between them.
pub async fn tags_come_with_their_events_wherever_a_row_or_a_page_ends(place: &dyn Tables) {
    let journal = place.journal().await;
    let other = WriterId::random();
    let epoch = journal.take_over_one(&id("b"), other).await.unwrap().epoch;
    let tagged = |number: u64| [1, 100, 128, 129, 300].contains(&number);
    let make = |number: u64, writer| {
        let event = event(number, writer, "x");
        match tagged(number) {
            true => event.with_tags(["a", "b,1,c"]),
            false => event,
        }
    };
    let writer = WriterId::random();
    let own = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    for number in 1..=300 {
        let foreign = event(number, other, "y").with_tags(["other"]);
        let writes = vec![
            AtomicWrite::new(id("a"), own, vec![make(number, writer)]).unwrap(),
            AtomicWrite::new(id("b"), epoch, vec![foreign]).unwrap(),
        ];
        let outcomes = journal.write_messages(writes).await.unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.is_stored()));
    }
    for max_events in [99, 127, 128, 129, 300] {
        for from in [1, 2, 128, 129, 172] {
            let page = page(&*journal, from, max_events, usize::MAX).await;
            let count = max_events.min(301 - from as usize);
            assert_eq!(page.events.len(), count, "{max_events} from {from}");
            for found in &page.events {
                assert_eq!(*found, make(found.sequence_nr, found.writer));
            }
        }
    }
}

/// Events of which two fill a page.
pub async fn a_page_of_large_events_ends_at_its_byte_limit(place: &dyn Tables) {
    let journal = place.journal().await;
    store_events(
        &*journal,
        |number, writer| event(number, writer, vec![0; 300_000]),
        6,
    )
    .await;
    assert_eq!(
        shape(&page(&*journal, 1, 10, 700_000).await),
        (vec![1, 2], true)
    );
    assert_eq!(
        shape(&page(&*journal, 5, 10, 700_000).await),
        (vec![5, 6], false)
    );
    assert_eq!(shape(&page(&*journal, 3, 10, 1).await), (vec![3], true));
}

/// Reads with a caller that asks for as much as there is.
pub async fn settings_cap_a_page_whatever_is_asked_for(place: &dyn Tables) {
    let journal = place
        .journal_with(
            place
                .section()
                .with("max-page-events", 3)
                .with("max-page-bytes", 250),
        )
        .await;
    store_events(
        &*journal,
        |number, writer| event(number, writer, vec![0; 100]),
        5,
    )
    .await;
    let (numbers, more) = shape(&page(&*journal, 1, usize::MAX, usize::MAX).await);
    assert_eq!((numbers, more), (vec![1, 2], true));
}

/// Numbers above those of a signed column.
pub async fn ranges_beyond_what_the_database_can_store_are_empty(place: &dyn Tables) {
    let journal = place.journal().await;
    store(&*journal, &id("a"), 3).await;
    let end = i64::MAX as u64;
    for (from, to, expected) in [
        (end, SequenceNr::MAX, vec![]),
        (end + 1, SequenceNr::MAX, vec![]),
        (SequenceNr::MAX, SequenceNr::MAX, vec![]),
        (0, end + 1, vec![1, 2, 3]),
        (3, 2, vec![]),
    ] {
        let range = ReplayRange::new(from, to);
        let page = journal
            .replay_messages(&id("a"), range, PageLimit::DEFAULT)
            .await
            .unwrap();
        assert_eq!(shape(&page), (expected, false), "{range:?}");
    }
    journal
        .delete_messages_to(&id("a"), EventDeletion::up_to(end + 1))
        .await
        .unwrap();
    assert_eq!(numbers(&*journal, &id("a")).await, [0_u64; 0]);
}

/// Stores five thousand events and reads them by small pages.
pub async fn a_long_stream_is_read_page_by_page(place: &dyn Tables) {
    let journal = place.journal().await;
    for _ in 0..5 {
        store(&*journal, &id("a"), 1_000).await;
    }
    let (mut from, mut found) = (1, Vec::new());
    loop {
        let page = page(&*journal, from, 1_000, usize::MAX).await;
        found.extend(page.events.iter().map(|event| event.sequence_nr));
        from = found.len() as u64 + 1;
        if !page.more {
            break;
        }
    }
    assert_eq!(found, (1..=5_000).collect::<Vec<_>>());
}

/// A page is of one moment, and so are its tags and large payloads, which may be read after it.
pub async fn large_events_deleted_while_a_page_is_read_are_left_out_of_it(place: &dyn Tables) {
    let journal = place.journal().await;
    store_events(
        &*journal,
        |number, writer| event(number, writer, vec![0; LARGE + 1]).with_tags(["t"]),
        60,
    )
    .await;
    let deleter = tokio::spawn({
        let journal = Arc::clone(&journal);
        async move {
            for to in 1..=59 {
                journal
                    .delete_messages_to(&id("a"), EventDeletion::up_to(to))
                    .await
                    .unwrap();
            }
        }
    });
    while !deleter.is_finished() {
        let page = replay_all(&*journal, &id("a")).await;
        let (numbers, _) = shape(&page);
        assert_eq!(numbers, (page.deleted_to + 1..=60).collect::<Vec<_>>());
        assert!(
            page.events
                .iter()
                .all(|event| event.payload.len() == LARGE + 1 && event.tags.len() == 1)
        );
    }
    deleter.await.unwrap();
    assert_eq!(numbers(&*journal, &id("a")).await, [60]);
}

/// Removes rows, as somebody with access to the table may: a page shows the events after the hole, so that the reader
/// sees that some are missing.
pub async fn events_beyond_a_hole_are_shown_so_that_the_hole_is_found(place: &dyn Tables) {
    let journal = place.journal().await;
    store(&*journal, &id("a"), 300).await;
    place
        .run("DELETE FROM event_journal WHERE sequence_nr IN (1, 70, 128, 129) OR sequence_nr BETWEEN 150 AND 290")
        .await;
    let expected: Vec<u64> = (2..150)
        .filter(|number| ![70, 128, 129].contains(number))
        .chain(291..=300)
        .collect();
    assert_eq!(numbers(&*journal, &id("a")).await, expected);
    let page = page(&*journal, 149, 1, 1_000).await;
    assert_eq!(shape(&page), (vec![149], true));
}

/// Bytes and characters of every kind.
pub async fn payloads_and_texts_may_hold_any_bytes(place: &dyn Tables) {
    let journal = place.journal().await;
    let every: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
    let odd = "\u{1},1,ü\u{10ffff}'\"";
    let make = |number: u64, writer| {
        let metadata = Payload::new(u32::MAX, odd, every.clone());
        let mut event = event(number, writer, every.clone())
            .with_adapter_manifest(odd)
            .with_metadata(metadata)
            .with_tags(["", odd]);
        event.payload.manifest = odd.into();
        event.timestamp = Timestamp::MIN;
        event
    };
    store_events(&*journal, make, 100).await;
    let page = replay_all(&*journal, &id("a")).await;
    for found in &page.events {
        assert_eq!(*found, make(found.sequence_nr, found.writer));
    }
    assert_eq!(page.events.len(), 100);
}
