//! Tests of queries over the events of all ids.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, EventOffset, EventQueries, EventRecord, EventSelection, EventsPage,
    EventsQuery, Journal, Payload, PersistenceId, PersistenceIdsQuery, PurgeProgress,
    SelectedEvent, SequenceNr, StorageError, StorageErrorKind, WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use futures_util::future::{join, join_all};

use crate::Tables;
use crate::steps::{assert_error, event, id, store};

const TYPES: [&str; 4] = ["A", "AB", "B", ""];
const TAGS: [&str; 4] = ["red", "Red", "red ", "grün"];
const MANIFESTS: [&str; 3] = ["opened", "Opened", "opened "];

fn one_of<T: Copy>(values: &[T]) -> T {
    values[fastrand::usize(..values.len())]
}

/// Returns one of a few ids of all types.
pub(super) fn some_id() -> PersistenceId {
    let name = fastrand::u8(..12).to_string();
    match one_of(&TYPES) {
        "" => PersistenceId::of_unique(&name),
        entity_type => PersistenceId::of(entity_type, &name),
    }
}

/// Returns an event of any size, with or without tags and metadata.
fn some_event(number: SequenceNr, writer: WriterId, largest: usize) -> EventRecord {
    let mut event = event(
        number,
        writer,
        vec![number as u8; fastrand::usize(..largest)],
    );
    event.payload.manifest = one_of(&MANIFESTS).into();
    if fastrand::bool() {
        let mut tags = TAGS;
        fastrand::shuffle(&mut tags);
        event = event.with_tags(tags.into_iter().take(fastrand::usize(1..=2)));
    }
    if fastrand::u8(..4) == 0 {
        event = event.with_metadata(Payload::new(2, "meta", vec![7; largest / 2]));
    }
    event
}

pub(super) fn some_selection() -> EventSelection {
    let mut selection = EventSelection::all();
    if fastrand::bool() {
        selection = selection.of_entity_type(one_of(&TYPES));
    }
    if fastrand::bool() {
        selection = selection.with_tag(one_of(&TAGS));
    }
    if fastrand::u8(..3) == 0 {
        selection = selection.with_manifest(one_of(&MANIFESTS));
    }
    if fastrand::u8(..3) == 0 {
        let start = fastrand::u16(..1024);
        selection = selection.of_slices(start..=fastrand::u16(start..1024));
    }
    selection
}

/// Stores the same in both journals.
async fn store_in_both(journals: [&dyn Journal; 2], id: &PersistenceId, largest: usize) {
    let writer = WriterId::random();
    let count = fastrand::u64(1..=6);
    let from = journals[0].read_head(id).await.unwrap().highest_sequence_nr + 1;
    let events: Vec<_> = (from..from + count)
        .map(|number| some_event(number, writer, largest))
        .collect();
    for journal in journals {
        let epoch = journal.take_over_one(id, writer).await.unwrap().epoch;
        let write = AtomicWrite::new(id.clone(), epoch, events.clone()).unwrap();
        let outcomes = journal.write_messages(vec![write]).await.unwrap();
        assert!(outcomes[0].is_stored(), "{outcomes:?}");
    }
}

async fn purge(journal: &dyn Journal, id: &PersistenceId) {
    while journal.purge(id).await.unwrap() != PurgeProgress::Done {}
}

/// The events of a selection by their ids, in the order in which they came.
pub(super) type ByIds = BTreeMap<PersistenceId, Vec<EventRecord>>;

pub(super) fn by_ids(events: impl IntoIterator<Item = SelectedEvent>) -> ByIds {
    let mut all = ByIds::new();
    for mut selected in events {
        selected.event.tags.sort_unstable();
        let of_id = all.entry(selected.persistence_id).or_default();
        of_id.push(selected.event);
    }
    all
}

fn queries(journal: &dyn Journal) -> &dyn EventQueries {
    journal.event_queries().expect("the journal has queries")
}

pub(super) async fn page(
    journal: &dyn Journal,
    selection: &EventSelection,
    after: &EventOffset,
    limit: usize,
) -> Result<EventsPage, StorageError> {
    let query = EventsQuery::new(selection.clone(), limit).after(after.clone());
    queries(journal).events(query).await
}

/// Reads everything after an offset, in pages of random sizes; goes on from the offset of a page, or of its last event.
pub(super) async fn read_all(
    journal: &dyn Journal,
    selection: &EventSelection,
    after: &mut EventOffset,
) -> Vec<SelectedEvent> {
    let mut all = Vec::new();
    loop {
        let limit = one_of(&[1, 2, 7, 50, 1_000]);
        let page = page(journal, selection, after, limit).await.unwrap();
        assert!(page.events.len() <= limit);
        assert!(!page.more || page.offset != *after, "no progress");
        let last = page.events.last().map(|last| last.offset.clone());
        let goes_on_after_last = page.more && fastrand::bool();
        *after = match last.filter(|_| goes_on_after_last) {
            Some(last) => last.to_string().parse().unwrap(),
            None => page.offset,
        };
        all.extend(page.events);
        if !page.more {
            return all;
        }
    }
}

/// Compares each page with what the plugin in memory returns after the same stores, deletes and purges.
pub async fn any_selection_gets_what_is_stored_once_and_in_order(place: &dyn Tables) {
    let section = place.section().with("max-page-bytes", "40kB");
    let journal = place.journal_with(section).await;
    let model = MemoryStorage::new().journal();
    let journals: [&dyn Journal; 2] = [&*journal, &model];
    let live = some_selection();
    let (mut offset, mut expected_offset) = (EventOffset::start(), EventOffset::start());
    for round in 0..25 {
        let largest = one_of(&[10, 300, 20_000]);
        for _ in 0..fastrand::u8(1..8) {
            store_in_both(journals, &some_id(), largest).await;
        }
        // What a reader goes on with is what was stored since.
        let found = read_all(&*journal, &live, &mut offset).await;
        let expected = read_all(&model, &live, &mut expected_offset).await;
        assert_eq!(by_ids(found), by_ids(expected), "{live:?}");
        let (id, to) = (some_id(), fastrand::u64(..12));
        for journal in journals {
            match round % 5 {
                4 => purge(journal, &id).await,
                _ => journal.delete_messages_to(&id, to.into()).await.unwrap(),
            }
        }
        let selection = some_selection();
        let found = read_all(&*journal, &selection, &mut EventOffset::start()).await;
        let expected = read_all(&model, &selection, &mut EventOffset::start()).await;
        assert_eq!(by_ids(found), by_ids(expected), "{selection:?}");
        for entity_type in [None, Some("A"), Some(""), Some("A|")] {
            let mut query = PersistenceIdsQuery::new(one_of(&[1, 3, 100])).after(some_id());
            query.entity_type = entity_type.map(Arc::from);
            query.tombstones = fastrand::bool();
            let found = queries(&*journal).current_persistence_ids(query.clone());
            let expected = queries(&model).current_persistence_ids(query.clone());
            let (found, expected) = join(found, expected).await;
            assert_eq!(found.unwrap(), expected.unwrap(), "{query:?}");
        }
    }
}

/// Deletes events as a process does that ended before it removed rows.
pub async fn deleted_rows_that_are_still_there_are_not_queried(place: &dyn Tables) {
    let journal = place.journal().await;
    store(&*journal, &id("a"), 10).await;
    place
        .run("UPDATE journal_metadata SET highest = 10, deleted_to = 8")
        .await;
    let all = EventSelection::all();
    let events = read_all(&*journal, &all, &mut EventOffset::start()).await;
    let numbers: Vec<_> = events.iter().map(|it| it.event.sequence_nr).collect();
    assert_eq!(numbers, [9, 10]);
}

/// Damages one of three events: the first is read, and the error names the second.
pub async fn a_page_ends_before_an_event_that_cannot_be_read(place: &dyn Tables) {
    let journal = place.journal().await;
    store(&*journal, &id("a"), 3).await;
    place
        .run("UPDATE event_journal SET checksum = 4294967297 WHERE sequence_nr = 2")
        .await;
    let all = EventSelection::all();
    let page_before = page(&*journal, &all, &EventOffset::start(), 10)
        .await
        .unwrap();
    assert_eq!(page_before.events.len(), 1);
    assert!(page_before.more);
    let error = page(&*journal, &all, &page_before.offset, 10)
        .await
        .unwrap_err();
    assert_error(&error, StorageErrorKind::Corrupt, "sequence number 2");
    assert_eq!(error.persistence_id(), Some(&id("a")));
    let after = error.offset_after().expect("it is one event");
    assert_eq!(after.to_string().parse().as_ref(), Ok(after));
    let rest = page(&*journal, &all, after, 10).await.unwrap();
    assert_eq!(rest.events.len(), 1);
    assert_eq!(rest.events[0].event.sequence_nr, 3);
}

/// Looks for one event after many others: every page looks at a bounded number of them.
pub async fn a_rare_event_is_found_by_short_looks(place: &dyn Tables) {
    const OTHERS: u64 = 25_000;
    let journal = place.journal().await;
    let (busy, writer) = (id("busy"), WriterId::random());
    let epoch = journal.take_over_one(&busy, writer).await.unwrap().epoch;
    let numbers: Vec<_> = (1..=OTHERS).collect();
    for numbers in numbers.chunks(1_000) {
        let events = numbers.iter().map(|number| {
            let mut event = event(*number, writer, "x");
            if *number == OTHERS {
                event.payload.manifest = "rare".into();
            }
            event
        });
        let write = AtomicWrite::new(busy.clone(), epoch, events.collect()).unwrap();
        let outcomes = journal.write_messages(vec![write]).await.unwrap();
        assert!(outcomes[0].is_stored(), "{outcomes:?}");
    }
    let rare = EventSelection::all().with_manifest("rare");
    let (mut offset, mut pages, mut found) = (EventOffset::start(), 0, Vec::new());
    loop {
        let page = page(&*journal, &rare, &offset, 100).await.unwrap();
        (pages, offset) = (pages + 1, page.offset);
        found.extend(page.events.into_iter().map(|it| it.event.sequence_nr));
        if !page.more {
            break;
        }
    }
    assert_eq!(found, [OTHERS]);
    assert!(pages >= 3, "{pages} pages for {OTHERS} events");
}

/// Writes from two journals at once, some of whose writes lose, while readers of all kinds go forward by small pages and
/// events are deleted.
pub async fn readers_get_each_event_once_in_order_beside_writers(place: &dyn Tables) {
    let journals = [place.journal().await, place.journal().await];
    let reading = place.journal().await;
    let is_over = AtomicBool::new(false);
    let writers = journals.iter().map(async |journal| {
        let mut stored = Vec::new();
        for _ in 0..60 {
            let mut ids: Vec<_> = (0..4).map(|_| some_id()).collect();
            ids.sort_unstable();
            ids.dedup();
            stored.extend(write_some(&**journal, &ids).await);
        }
        stored
    });
    let selections = [
        EventSelection::all(),
        EventSelection::all().with_tag("red"),
        EventSelection::all().of_entity_type("A"),
        EventSelection::all().of_slices(100..=700),
        EventSelection::all()
            .with_manifest("opened")
            .with_tag("Red"),
    ];
    let writing = async {
        let stored = join_all(writers).await.concat();
        is_over.store(true, Ordering::Relaxed);
        stored
    };
    let readers = selections.iter().map(async |selection| {
        let (mut events, mut offset) = (Vec::new(), EventOffset::start());
        loop {
            let was_over = is_over.load(Ordering::Relaxed);
            let newest = queries(&*reading).newest_offset(selection).await.unwrap();
            events.extend(read_all(&*reading, selection, &mut offset).await);
            if was_over && offset.has_reached(&newest) {
                return events;
            }
        }
    });
    let (stored, read) = join(writing, join_all(readers)).await;
    assert!(stored.len() > 100, "{} stored", stored.len());
    for (selection, events) in selections.iter().zip(read) {
        let mut last: HashMap<PersistenceId, SequenceNr> = HashMap::new();
        for found in &events {
            let number = found.event.sequence_nr;
            let before = last.insert(found.persistence_id.clone(), number);
            assert!(before.unwrap_or(0) < number, "{found:?} after {before:?}");
        }
        let selected = stored
            .iter()
            .filter(|(id, event)| selection.selects(id, event));
        let mut expected: Vec<_> = selected
            .map(|(id, it)| (id.clone(), it.sequence_nr))
            .collect();
        let found = events.into_iter();
        let mut found: Vec<_> = found
            .map(|it| (it.persistence_id, it.event.sequence_nr))
            .collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{selection:?}");
    }
}

/// Stores events of several ids in one call; returns those of ids that did not lose to another writer.
pub(super) async fn write_some(
    journal: &dyn Journal,
    ids: &[PersistenceId],
) -> Vec<(PersistenceId, EventRecord)> {
    let writer = WriterId::random();
    let mut writes = Vec::new();
    for id in ids {
        let taken = journal.take_over_one(id, writer).await.unwrap();
        let from = taken.highest_sequence_nr + 1;
        let events = (from..from + fastrand::u64(1..4)).map(|nr| some_event(nr, writer, 300));
        writes.push(AtomicWrite::new(id.clone(), taken.epoch, events.collect()).unwrap());
    }
    let outcomes = journal.write_messages(writes.clone()).await.unwrap();
    let stored = writes
        .into_iter()
        .zip(outcomes)
        .filter_map(|(write, outcome)| match outcome {
            WriteOutcome::Stored => Some(write),
            WriteOutcome::Failed(error) => {
                assert_eq!(error.kind(), StorageErrorKind::SequenceConflict);
                None
            }
            other => unreachable!("{other:?}"),
        });
    stored
        .flat_map(|write| {
            let id = write.persistence_id().clone();
            write
                .into_events()
                .into_iter()
                .map(move |event| (id.clone(), event))
        })
        .collect()
}

/// Deletes events while a reader reads pages that hold them: it gets no event twice, and those that are left.
pub async fn events_deleted_between_pages_are_passed_by(place: &dyn Tables) {
    let journal = place.journal().await;
    let ids: Vec<_> = (0..20).map(|number| id(&number.to_string())).collect();
    for id in &ids {
        store(&*journal, id, 20).await;
    }
    let all = EventSelection::all();
    let (mut offset, mut last) = (EventOffset::start(), HashMap::new());
    loop {
        let (deleted, to) = (one_of(&[0, 5, 10, 15]), fastrand::u64(..20));
        let deletion = EventDeletion::up_to(to);
        let deleting = journal.delete_messages_to(&ids[deleted], deletion);
        let (page, ()) = join(
            async { page(&*journal, &all, &offset, 7).await.unwrap() },
            async { deleting.await.unwrap() },
        )
        .await;
        for found in page.events {
            let number = found.event.sequence_nr;
            let before = last.insert(found.persistence_id, number);
            assert!(before.unwrap_or(0) < number);
        }
        offset = page.offset;
        if !page.more {
            break;
        }
    }
    let whole = ids.iter().enumerate().filter(|(place, _)| place % 5 != 0);
    assert!(whole.into_iter().all(|(_, id)| last[id] == 20));
}

/// Deletes the first events of a group while a page is read that needs a second look because of a large event: what takes
/// their place belongs to the next page.
pub async fn events_that_take_the_place_of_deleted_ones_come_once(place: &dyn Tables) {
    let journal = place.journal().await;
    for round in 0..30 {
        let ids = ["a", "b", "c"].map(|name| id(&format!("{round}-{name}")));
        let before = newest_of_all(&*journal).await;
        let writer = WriterId::random();
        let mut writes = Vec::new();
        for (id, largest) in ids.iter().zip([10, 20_000, 10]) {
            let epoch = journal.take_over_one(id, writer).await.unwrap().epoch;
            let events = (1..=6).map(|number| event(number, writer, vec![7; largest]));
            writes.push(AtomicWrite::new(id.clone(), epoch, events.collect()).unwrap());
        }
        let outcomes = journal.write_messages(writes).await.unwrap();
        assert!(outcomes.iter().all(WriteOutcome::is_stored));
        let reading = async {
            let (mut events, mut offset) = (Vec::new(), before);
            loop {
                let page = page(&*journal, &EventSelection::all(), &offset, 8)
                    .await
                    .unwrap();
                events.extend(page.events);
                offset = page.offset;
                if !page.more {
                    return events;
                }
            }
        };
        let deleting = async {
            for to in 1..=6 {
                let deleted = journal.delete_messages_to(&ids[0], to.into());
                deleted.await.unwrap();
            }
        };
        let (events, ()) = join(reading, deleting).await;
        let mut last: HashMap<PersistenceId, SequenceNr> = HashMap::new();
        for found in events {
            let number = found.event.sequence_nr;
            let before = last.insert(found.persistence_id, number);
            assert!(before.unwrap_or(0) < number, "{number} after {before:?}");
        }
        assert_eq!((last[&ids[1]], last[&ids[2]]), (6, 6));
    }
}

async fn newest_of_all(journal: &dyn Journal) -> EventOffset {
    let all = EventSelection::all();
    queries(journal).newest_offset(&all).await.unwrap()
}

/// Reads pages that are smaller than a share of each partition while there is much to read: none of the partitions waits until
/// all others were read.
pub async fn small_pages_come_from_all_ids_in_turns(place: &dyn Tables) {
    let journal = place.journal().await;
    let ids: Vec<_> = (0..40).map(|number| id(&number.to_string())).collect();
    for _ in 0..6 {
        for id in &ids {
            store(&*journal, id, 1).await;
        }
    }
    let (mut offset, mut seen) = (EventOffset::start(), HashMap::new());
    // Enough for two events of each, of six.
    for _ in 0..40 {
        let page = page(&*journal, &EventSelection::all(), &offset, 3)
            .await
            .unwrap();
        for found in page.events {
            seen.insert(found.persistence_id, found.event.sequence_nr);
        }
        offset = page.offset;
    }
    assert_eq!(seen.len(), ids.len(), "{seen:?}");
    assert!(seen.values().all(|number| *number < 6), "{seen:?}");
}

/// Reads pages of sizes at which a database may begin another part of its answer.
pub async fn pages_of_any_size_have_every_event_with_its_tags(place: &dyn Tables) {
    const EVENTS: u64 = 260;
    let journal = place.journal().await;
    let writer = WriterId::random();
    for name in ["a", "b"] {
        let id = PersistenceId::of("Counter", name);
        let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
        let events = (1..=EVENTS).map(|number| match number % 3 {
            0 => event(number, writer, "x").with_tags([format!("{name}{number}")]),
            _ => event(number, writer, "x"),
        });
        let write = AtomicWrite::new(id, epoch, events.collect()).unwrap();
        let outcomes = journal.write_messages(vec![write]).await.unwrap();
        assert!(outcomes[0].is_stored(), "{outcomes:?}");
    }
    let all = EventSelection::all();
    for selection in [all.clone(), all.of_entity_type("Counter")] {
        for limit in [124, 125, 126, 249, 250, 251, 520, 1_000] {
            let (mut offset, mut found) = (EventOffset::start(), Vec::new());
            loop {
                let page = page(&*journal, &selection, &offset, limit).await.unwrap();
                assert!(page.events.len() <= limit, "{limit}");
                offset = page.offset;
                found.extend(page.events);
                if !page.more {
                    break;
                }
            }
            let found = by_ids(found);
            assert_eq!(found.len(), 2);
            for (id, events) in found {
                let numbers: Vec<_> = events.iter().map(|event| event.sequence_nr).collect();
                assert_eq!(numbers, (1..=EVENTS).collect::<Vec<_>>(), "{limit}");
                for event in events {
                    let number = event.sequence_nr;
                    let tags = match number % 3 {
                        0 => vec![Arc::from(format!("{}{number}", id.entity_id()))],
                        _ => vec![],
                    };
                    assert_eq!(event.tags, tags, "{limit}");
                }
            }
        }
    }
}

/// Leaves the rows of many deleted events: a page passes a bounded number of them by.
pub async fn a_page_passes_a_bounded_number_of_deleted_rows(place: &dyn Tables) {
    const EVENTS: u64 = 12_000;
    let journal = place.journal().await;
    let (busy, writer) = (id("busy"), WriterId::random());
    let epoch = journal.take_over_one(&busy, writer).await.unwrap().epoch;
    for numbers in (1..=EVENTS).collect::<Vec<_>>().chunks(1_000) {
        let events = numbers.iter().map(|number| event(*number, writer, "x"));
        let write = AtomicWrite::new(busy.clone(), epoch, events.collect()).unwrap();
        let outcomes = journal.write_messages(vec![write]).await.unwrap();
        assert!(outcomes[0].is_stored(), "{outcomes:?}");
    }
    place
        .run("UPDATE journal_metadata SET highest = 12000, deleted_to = 11999")
        .await;
    let (mut offset, mut empty_pages) = (EventOffset::start(), 0);
    let numbers: Vec<_> = loop {
        let page = page(&*journal, &EventSelection::all(), &offset, 100)
            .await
            .unwrap();
        if !page.events.is_empty() {
            break page.events.iter().map(|it| it.event.sequence_nr).collect();
        }
        assert!(page.more && page.offset != offset, "{page:?}");
        (offset, empty_pages) = (page.offset, empty_pages + 1);
    };
    assert_eq!(numbers, [EVENTS]);
    assert!(empty_pages > 0);
}
