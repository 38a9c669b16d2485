//! Deletes: what is hidden at once, and what is removed later.

use std::time::Duration;

use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, PageLimit, PurgeProgress, ReplayRange, Section,
    SequenceNr, StorageErrorKind, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::steps::{event, failure, id, numbers, replay_all, store, write};
use crate::{OnServer, Tables, until_number};

/// Counts the rows of events.
pub const ROWS: &str = "SELECT COUNT(*) FROM event_journal";
const UNSWEPT: &str = "SELECT COUNT(*) FROM journal_metadata WHERE swept_to < deleted_to";

/// The traces of a process that ends between hiding events and removing their rows.
const CRASHED: &str = "UPDATE journal_metadata SET highest = 10, deleted_to = 8, swept_to = 3";

/// Returns when the rows of all hidden events are removed.
pub async fn wait_until_swept(place: &dyn Tables) {
    until_number(place, UNSWEPT, |number| number == 0).await;
}

/// Deletes 100 events of which the first 50 can be removed, and waits until they are.
async fn delete_what_cannot_be_removed(place: &dyn Tables, journal: &dyn Journal) {
    store(journal, &id("a"), 100).await;
    place.run(&place.stops_removal_at(55)).await;
    journal
        .delete_messages_to(&id("a"), EventDeletion::up_to(100))
        .await
        .unwrap();
    until_number(place, ROWS, |number| number <= 50).await;
}

/// A delete of some events.
pub async fn a_delete_hides_events_at_once_and_removes_their_rows_afterwards(place: &dyn Tables) {
    let journal = place.journal().await;
    store(&*journal, &id("a"), 10).await;
    journal
        .delete_messages_to(&id("a"), 4.into())
        .await
        .unwrap();
    assert_eq!(numbers(&*journal, &id("a")).await, [5, 6, 7, 8, 9, 10]);
    wait_until_swept(place).await;
    assert_eq!(place.number(ROWS).await, 6);
}

/// A delete of an id that was never written.
pub async fn a_delete_of_an_unknown_id_leaves_no_row(place: &dyn Tables) {
    let journal = place.journal().await;
    journal
        .delete_messages_to(&id("never"), EventDeletion::up_to(SequenceNr::MAX))
        .await
        .unwrap();
    journal
        .read_highest_sequence_nr(&id("never"))
        .await
        .unwrap();
    replay_all(&*journal, &id("never")).await;
    assert_eq!(
        place.number("SELECT COUNT(*) FROM journal_metadata").await,
        0
    );
}

/// Deletes many events, which are removed a few at a time.
pub async fn a_delete_of_many_events_removes_them_in_chunks(place: &dyn Tables) {
    let journal = place
        .journal_with(place.section().with("delete-chunk-events", 7))
        .await;
    store(&*journal, &id("a"), 100).await;
    store(&*journal, &id("b"), 20).await;
    journal
        .delete_messages_to(&id("a"), EventDeletion::up_to(95))
        .await
        .unwrap();
    assert_eq!(numbers(&*journal, &id("a")).await, [96, 97, 98, 99, 100]);
    journal
        .delete_messages_to(&id("b"), EventDeletion::up_to(19))
        .await
        .unwrap();
    wait_until_swept(place).await;
    assert_eq!(place.number(ROWS).await, 6);
}

/// The highest number is raised by a delete in the same transaction that removes the rows it came from.
pub async fn a_delete_right_after_the_write_keeps_the_highest_number(place: &dyn Tables) {
    let journal = place.journal().await;
    for round in 1..=5 {
        store(&*journal, &id("a"), 3).await;
        journal
            .delete_messages_to(&id("a"), EventDeletion::up_to(round * 3))
            .await
            .unwrap();
        let highest = journal.read_highest_sequence_nr(&id("a")).await.unwrap();
        assert_eq!(highest, round * 3);
    }
}

/// A row that cannot be removed for a while.
pub async fn an_error_in_the_background_does_not_stop_the_removal_for_good(place: &dyn Tables) {
    let journal = place
        .journal_with(place.section().with("delete-chunk-events", 10))
        .await;
    delete_what_cannot_be_removed(place, &*journal).await;
    // Long enough for the chunk with the trigger to have failed at least once.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(place.number(ROWS).await, 50);
    place.run(place.lets_removal_go_on()).await;
    let swept = tokio::time::timeout(Duration::from_secs(60), wait_until_swept(place));
    swept.await.unwrap();
    assert_eq!(place.number(ROWS).await, 0);
}

/// A process that ends before it removes deleted rows leaves them behind: no read shows them.
pub async fn deleted_rows_that_are_still_there_are_never_shown(place: &dyn Tables) {
    let journal = place.journal().await;
    store(&*journal, &id("a"), 10).await;
    place.run(CRASHED).await;
    assert_eq!(numbers(&*journal, &id("a")).await, [9, 10]);
    let page = replay_all(&*journal, &id("a")).await;
    assert_eq!(page.deleted_to, 8);
    let upper = ReplayRange::new(2, 8);
    let page = journal
        .replay_messages(&id("a"), upper, PageLimit::DEFAULT)
        .await
        .unwrap();
    assert!(page.events.is_empty() && !page.more);
}

/// A row that can never be removed.
pub async fn deleting_and_initializing_succeed_although_no_row_can_be_removed(place: &dyn Tables) {
    let journal = place.journal().await;
    store(&*journal, &id("a"), 3).await;
    place.run(&place.stops_removal_at(1)).await;
    journal
        .delete_messages_to(&id("a"), 2.into())
        .await
        .unwrap();
    drop(journal);
    let journal = place.journal().await;
    assert_eq!(numbers(&*journal, &id("a")).await, [3]);
    assert_eq!(place.number(ROWS).await, 3);
    place.run(place.lets_removal_go_on()).await;
    let swept = tokio::time::timeout(Duration::from_secs(60), wait_until_swept(place));
    swept.await.unwrap();
    assert_eq!(place.number(ROWS).await, 1);
}

/// A process that ended before it removed rows.
pub async fn initializing_goes_on_with_a_delete_that_was_interrupted(place: &dyn Tables) {
    let journal = place.journal().await;
    store(&*journal, &id("a"), 10).await;
    drop(journal);
    place.run(CRASHED).await;
    let journal = place
        .journal_with(place.section().with("delete-chunk-events", 2))
        .await;
    wait_until_swept(place).await;
    assert_eq!(numbers(&*journal, &id("a")).await, [9, 10]);
    // Rows 1 to 3 were removed before the crash, as far as was noted: no delete steps over them again.
    assert_eq!(place.number(ROWS).await, 5);
}

/// Events of a megabyte.
pub async fn rows_are_removed_in_chunks_of_few_bytes(place: &dyn Tables) {
    let journal = place.journal().await;
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    for number in 1..=24 {
        let large = event(number, writer, vec![b'x'; 1024 * 1024]);
        let large = AtomicWrite::new(id("a"), epoch, vec![large]).unwrap();
        let outcomes = journal.write_messages(vec![large]).await.unwrap();
        assert!(outcomes[0].is_stored(), "{outcomes:?}");
    }
    // A chunk that comes to here removes nothing.
    place.run(&place.stops_removal_at(20)).await;
    journal
        .delete_messages_to(&id("a"), 24.into())
        .await
        .unwrap();
    let first = until_number(place, ROWS, |number| number < 24);
    let first = tokio::time::timeout(Duration::from_secs(60), first);
    first.await.unwrap();
    assert_eq!(place.number(ROWS).await, 8);
    place.run(place.lets_removal_go_on()).await;
    let swept = tokio::time::timeout(Duration::from_secs(60), wait_until_swept(place));
    swept.await.unwrap();
    assert_eq!(place.number(ROWS).await, 0);
}

/// An id without events.
pub async fn no_number_is_used_again_after_all_was_deleted_and_reopened(place: &dyn Tables) {
    let a = id("a");
    let journal = place.journal().await;
    store(&*journal, &a, 5).await;
    journal
        .delete_messages_to(&a, EventDeletion::up_to(SequenceNr::MAX))
        .await
        .unwrap();
    wait_until_swept(place).await;
    assert_eq!(place.number(ROWS).await, 0);
    drop(journal);

    let journal = place.journal().await;
    assert_eq!(journal.read_highest_sequence_nr(&a).await.unwrap(), 5);
    let writer = WriterId::random();
    let taken = journal.take_over_one(&a, writer).await.unwrap();
    assert_eq!((taken.highest_sequence_nr, taken.deleted_to), (5, 5));
    for used in 1..=5 {
        let again = vec![write(&a, taken.epoch, writer, used..=used)];
        let outcomes = journal.write_messages(again).await.unwrap();
        assert_eq!(
            failure(&outcomes[0]).kind(),
            StorageErrorKind::SequenceConflict
        );
    }
    store(&*journal, &a, 1).await;
    assert_eq!(numbers(&*journal, &a).await, [6]);
}

/// Rows that another locks for a while.
///
/// `lock` drops the trigger, and locks the rows for longer than the journal waits; `count_and_free` counts them there, and
/// ends that.
pub async fn the_lock_of_another_does_not_stop_the_removal_for_good<H>(
    place: &dyn Tables,
    section: Section,
    lock: impl AsyncFnOnce() -> H,
    count_and_free: impl AsyncFnOnce(H) -> i64,
) {
    let journal = place
        .journal_with(section.with("delete-chunk-events", 10))
        .await;
    delete_what_cannot_be_removed(place, &*journal).await;
    // From now on nothing but the lock is in the way.
    let locked = lock().await;
    // Long enough for an attempt or two, the first of which come 200 and 400 ms after an error.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(count_and_free(locked).await, 50);
    let swept = tokio::time::timeout(Duration::from_secs(60), wait_until_swept(place));
    swept.await.unwrap();
    assert_eq!(place.number(ROWS).await, 0);
}

/// Deletes and purges with more rows than can be removed in the time of a statement.
///
/// `slow` makes the removal of a hundred rows take longer than `statement-timeout` in the section, and that of some of
/// them not.
pub async fn a_chunk_that_takes_too_long_is_halved_until_it_does_not(
    place: &dyn Tables,
    section: Section,
    slow: &str,
) {
    let journal = place.journal_with(section).await;
    for name in ["a", "b"] {
        store(&*journal, &id(name), 100).await;
    }
    place.run(slow).await;
    journal
        .delete_messages_to(&id("a"), 100.into())
        .await
        .unwrap();
    let swept = tokio::time::timeout(Duration::from_secs(60), wait_until_swept(place));
    swept.await.unwrap();
    assert_eq!(place.number(ROWS).await, 100);
    // The task that removes rows in the background would meet the purge, and its locks.
    journal.close().await;
    // A purge removes them in chunks, too; a tool repeats it until it is done.
    while journal.purge(&id("b")).await.unwrap() != PurgeProgress::Done {}
    assert_eq!(place.number(ROWS).await, 0);
}

/// Runs an operation on the id `Test|a` that waits, after a purge of the id, for a lock; returns its result.
async fn after_a_purge_that_waits<T>(
    place: &dyn OnServer,
    journal: &dyn Journal,
    operation: impl Future<Output = T>,
) -> T {
    let held = place.hold("journal_metadata", "Test|a").await;
    let id = id("a");
    let mut purge =
        Box::pin(async { while journal.purge(&id).await.unwrap() != PurgeProgress::Done {} });
    tokio::select! {
        () = &mut purge => unreachable!("the id is locked"),
        () = place.until_waiting(1) => {}
    }
    let mut operation = Box::pin(operation);
    tokio::select! {
        () = &mut purge => unreachable!("the id is locked"),
        _ = &mut operation => unreachable!("the id is locked"),
        () = place.until_waiting(2) => {}
    }
    drop(held);
    let ((), result) = tokio::join!(purge, operation);
    result
}

/// Checks that nothing is left of the id.
async fn assert_purged(journal: &dyn Journal) {
    let head = journal.read_head(&id("a")).await.unwrap();
    assert_eq!((head.highest_sequence_nr, head.deleted_to), (0, 0));
}

/// A delete has looked for the highest number before the purge that it waits for is done.
pub async fn a_delete_that_waits_for_a_purge_elsewhere_brings_no_numbers_back(
    place: &dyn OnServer,
) {
    let (here, there) = (place.journal().await, place.journal().await);
    store(&*here, &id("a"), 10).await;
    for to in [5, SequenceNr::MAX] {
        let of = id("a");
        let delete = there.delete_messages_to(&of, EventDeletion::up_to(to));
        let deleted = after_a_purge_that_waits(place, &*here, delete).await;
        deleted.unwrap();
        assert_purged(&*here).await;
        store(&*here, &id("a"), 10).await;
        assert_eq!(numbers(&*there, &id("a")).await.len(), 10);
    }
}

/// Looks for the newest event before the purge that it waits for is done.
pub async fn a_take_over_that_waits_for_a_purge_elsewhere_brings_no_numbers_back(
    place: &dyn OnServer,
) {
    let (here, there) = (place.journal().await, place.journal().await);
    store(&*here, &id("a"), 10).await;
    let of = id("a");
    let take_over = there.take_over_one(&of, WriterId::random());
    let taken = after_a_purge_that_waits(place, &*here, take_over).await;
    assert_eq!(taken.unwrap().highest_sequence_nr, 0);
    assert_purged(&*here).await;
}
