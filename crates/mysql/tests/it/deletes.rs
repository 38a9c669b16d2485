//! Deletes: what is hidden at once, and what is removed later.

use std::time::Duration;

use actix_persistence_mysql::MysqlJournal;
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, PageLimit, ReplayRange, ResetProgress, SequenceNr,
    StorageErrorKind, WriterId,
};

use crate::database::execute;
use crate::place::{Place, event, failure, id, numbers, replay_all, store, write};

const ROWS: &str = "SELECT COUNT(*) FROM event_journal";
const UNPURGED: &str = "SELECT COUNT(*) FROM journal_metadata WHERE purged_to < deleted_to";

/// The traces of a process that ends between hiding events and removing their rows.
const CRASHED: &str = "UPDATE journal_metadata SET highest = 10, deleted_to = 8, purged_to = 3";

/// Every look is a query, so others get their turn; the removal itself ends it.
async fn wait_until_purged(place: &Place) {
    while place.number(UNPURGED).await > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn deleted_rows_that_are_still_there_are_never_shown() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 10).await;
    place.run(CRASHED).await;
    assert_eq!(numbers(&journal, &id("a")).await, [9, 10]);
    let page = replay_all(&journal, &id("a")).await;
    assert_eq!(page.deleted_to, 8);
    let upper = ReplayRange::new(2, 8);
    let page = journal
        .replay_messages(&id("a"), upper, PageLimit::DEFAULT)
        .await
        .unwrap();
    assert!(page.events.is_empty() && !page.more);
}

#[tokio::test]
async fn initializing_goes_on_with_a_delete_that_was_interrupted() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 10).await;
    drop(journal);
    place.run(CRASHED).await;
    let journal = place
        .journal_with(
            place
                .options()
                .with_store(|store| store.with_delete_chunk_events(2)),
        )
        .await;
    wait_until_purged(&place).await;
    assert_eq!(numbers(&journal, &id("a")).await, [9, 10]);
    // Rows 1 to 3 were removed before the crash, as far as anybody noted: nobody steps over them again.
    assert_eq!(place.number(ROWS).await, 5);
}

#[tokio::test]
async fn a_delete_of_many_events_removes_them_in_chunks() {
    let place = Place::new().await;
    let journal = place
        .journal_with(
            place
                .options()
                .with_store(|store| store.with_delete_chunk_events(7)),
        )
        .await;
    store(&journal, &id("a"), 100).await;
    store(&journal, &id("b"), 20).await;
    journal
        .delete_messages_to(&id("a"), EventDeletion::up_to(95))
        .await
        .unwrap();
    assert_eq!(numbers(&journal, &id("a")).await, [96, 97, 98, 99, 100]);
    journal
        .delete_messages_to(&id("b"), EventDeletion::up_to(19))
        .await
        .unwrap();
    wait_until_purged(&place).await;
    assert_eq!(place.number(ROWS).await, 6);
}

/// Deletes 100 events of which the first 50 can be removed, and waits until they are.
async fn delete_what_cannot_be_removed(place: &Place, journal: &MysqlJournal) {
    store(journal, &id("a"), 100).await;
    place
        .run(
            "CREATE TRIGGER stop BEFORE DELETE ON event_journal FOR EACH ROW \
             IF OLD.sequence_nr = 55 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'scripted'; END IF",
        )
        .await;
    journal
        .delete_messages_to(&id("a"), EventDeletion::up_to(100))
        .await
        .unwrap();
    while place.number(ROWS).await > 50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_error_in_the_background_does_not_stop_the_removal_for_good() {
    let place = Place::new().await;
    let journal = place
        .journal_with(
            place
                .options()
                .with_store(|store| store.with_delete_chunk_events(10)),
        )
        .await;
    delete_what_cannot_be_removed(&place, &journal).await;
    // Long enough for the chunk with the trigger to have failed at least once.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(place.number(ROWS).await, 50);
    place.run("DROP TRIGGER stop").await;
    let purged = tokio::time::timeout(Duration::from_secs(60), wait_until_purged(&place));
    purged.await.unwrap();
    assert_eq!(place.number(ROWS).await, 0);
}

#[tokio::test]
async fn the_lock_of_another_does_not_stop_the_removal_for_good() {
    let place = Place::new().await;
    let mut options = place
        .options()
        .with_store(|store| store.with_delete_chunk_events(10));
    options.server.lock_timeout = Duration::from_secs(1);
    let journal = place.journal_with(options).await;
    delete_what_cannot_be_removed(&place, &journal).await;
    // At last nothing but the lock is in the way.
    let mut other = place.connection().await;
    let lock = "START TRANSACTION; SELECT * FROM journal_metadata FOR UPDATE";
    execute(&mut other, lock).await;
    place.run("DROP TRIGGER stop").await;
    // Long enough for an attempt or two, the first of which come 200 and 400 ms after an error.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let rows = sqlx::query_scalar(ROWS).fetch_one(&mut other);
    let rows: i64 = rows.await.unwrap();
    assert_eq!(rows, 50);
    execute(&mut other, "COMMIT").await;
    let purged = tokio::time::timeout(Duration::from_secs(60), wait_until_purged(&place));
    purged.await.unwrap();
    assert_eq!(place.number(ROWS).await, 0);
}

#[tokio::test]
async fn deleting_and_initializing_succeed_although_no_row_can_be_removed() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 3).await;
    place
        .run(
            "CREATE TRIGGER stop BEFORE DELETE ON event_journal FOR EACH ROW
             IF old.sequence_nr = 1 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'scripted'; END IF",
        )
        .await;
    journal
        .delete_messages_to(&id("a"), 2.into())
        .await
        .unwrap();
    drop(journal);
    let journal = place.journal().await;
    assert_eq!(numbers(&journal, &id("a")).await, [3]);
    assert_eq!(place.number(ROWS).await, 3);
    place.run("DROP TRIGGER stop").await;
    let purged = tokio::time::timeout(Duration::from_secs(60), wait_until_purged(&place));
    purged.await.unwrap();
    assert_eq!(place.number(ROWS).await, 1);
}

#[tokio::test]
async fn rows_are_removed_in_chunks_of_few_bytes() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let writer = WriterId::random();
    let epoch = journal.recover(&id("a"), writer).await.unwrap().epoch;
    for number in 1..=24 {
        let large = event(number, writer, vec![b'x'; 1024 * 1024]);
        let large = AtomicWrite::new(id("a"), epoch, vec![large]).unwrap();
        let outcomes = journal.write_messages(vec![large]).await.unwrap();
        assert!(outcomes[0].is_stored(), "{outcomes:?}");
    }
    // A chunk that comes to here removes nothing.
    place
        .run(
            "CREATE TRIGGER stop BEFORE DELETE ON event_journal FOR EACH ROW
             IF old.sequence_nr = 20 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'scripted'; END IF",
        )
        .await;
    journal
        .delete_messages_to(&id("a"), 24.into())
        .await
        .unwrap();
    let first = async {
        while place.number(ROWS).await == 24 {
            tokio::task::yield_now().await;
        }
    };
    let first = tokio::time::timeout(Duration::from_secs(60), first);
    first.await.unwrap();
    assert_eq!(place.number(ROWS).await, 8);
    place.run("DROP TRIGGER stop").await;
    let purged = tokio::time::timeout(Duration::from_secs(60), wait_until_purged(&place));
    purged.await.unwrap();
    assert_eq!(place.number(ROWS).await, 0);
}

#[tokio::test]
async fn a_chunk_that_takes_too_long_is_halved_until_it_does_not() {
    let place = Place::new().await;
    let mut options = place.options();
    options.server.statement_timeout = Duration::from_secs(1);
    options.server.lock_timeout = Duration::from_millis(900);
    let journal = place.journal_with(options).await;
    for name in ["a", "b"] {
        store(&journal, &id(name), 100).await;
    }
    place
        .run("CREATE TRIGGER slow BEFORE DELETE ON event_journal FOR EACH ROW DO SLEEP(0.02)")
        .await;
    journal
        .delete_messages_to(&id("a"), 100.into())
        .await
        .unwrap();
    let purged = tokio::time::timeout(Duration::from_secs(60), wait_until_purged(&place));
    purged.await.unwrap();
    assert_eq!(place.number(ROWS).await, 100);
    // So does a reset, which a tool repeats until it is done.
    while journal.reset(&id("b")).await.unwrap() != ResetProgress::Done {}
    assert_eq!(place.number(ROWS).await, 0);
}

#[tokio::test]
async fn a_delete_hides_events_at_once_and_removes_their_rows_afterwards() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 10).await;
    journal
        .delete_messages_to(&id("a"), 4.into())
        .await
        .unwrap();
    assert_eq!(numbers(&journal, &id("a")).await, [5, 6, 7, 8, 9, 10]);
    wait_until_purged(&place).await;
    assert_eq!(place.number(ROWS).await, 6);
}

#[tokio::test]
async fn a_delete_of_an_unknown_id_leaves_no_row() {
    let place = Place::new().await;
    let journal = place.journal().await;
    journal
        .delete_messages_to(&id("never"), EventDeletion::up_to(SequenceNr::MAX))
        .await
        .unwrap();
    journal
        .read_highest_sequence_nr(&id("never"), 0)
        .await
        .unwrap();
    replay_all(&journal, &id("never")).await;
    assert_eq!(
        place.number("SELECT COUNT(*) FROM journal_metadata").await,
        0
    );
}

#[tokio::test]
async fn no_number_is_used_again_after_everything_was_deleted_and_the_store_reopened() {
    let place = Place::new().await;
    let a = id("a");
    let journal = place.journal().await;
    store(&journal, &a, 5).await;
    journal
        .delete_messages_to(&a, EventDeletion::up_to(SequenceNr::MAX))
        .await
        .unwrap();
    wait_until_purged(&place).await;
    assert_eq!(place.number(ROWS).await, 0);
    drop(journal);

    let journal = place.journal().await;
    assert_eq!(journal.read_highest_sequence_nr(&a, 0).await.unwrap(), 5);
    let writer = WriterId::random();
    let recovered = journal.recover(&a, writer).await.unwrap();
    assert_eq!(
        (recovered.highest_sequence_nr, recovered.deleted_to),
        (5, 5)
    );
    for used in 1..=5 {
        let again = vec![write(&a, recovered.epoch, writer, used..=used)];
        let outcomes = journal.write_messages(again).await.unwrap();
        assert_eq!(
            failure(&outcomes[0]).kind(),
            StorageErrorKind::SequenceConflict
        );
    }
    store(&journal, &a, 1).await;
    assert_eq!(numbers(&journal, &a).await, [6]);
}

/// The highest number is raised by a delete in the same transaction that removes the rows it came from.
#[tokio::test]
async fn a_delete_right_after_the_write_keeps_the_highest_number() {
    let place = Place::new().await;
    let journal = place.journal().await;
    for round in 1..=5 {
        store(&journal, &id("a"), 3).await;
        journal
            .delete_messages_to(&id("a"), EventDeletion::up_to(round * 3))
            .await
            .unwrap();
        let highest = journal.read_highest_sequence_nr(&id("a"), 0).await.unwrap();
        assert_eq!(highest, round * 3);
    }
}

const WAITING: &str = "\
    SELECT COUNT(*) FROM information_schema.innodb_trx AS t JOIN information_schema.processlist AS p \
    ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'";

/// A call goes on after its caller went away. Would it not be waited for, it could end after later ones, and remove what was
/// stored since.
#[tokio::test]
async fn a_reset_and_a_delete_wait_for_a_reset_that_was_dropped() {
    let place = Place::new().await;
    let mut options = place.options();
    // A call of another id gets its connection at once, or not at all.
    options.server.acquire_timeout = Duration::from_millis(500);
    let journal = place.journal_with(options).await;
    store(&journal, &id("a"), 3).await;
    for everything in [true, false] {
        let mut other = place.connection().await;
        execute(
            &mut other,
            "START TRANSACTION; SELECT * FROM journal_metadata WHERE persistence_id = 'Test|a' FOR UPDATE",
        )
        .await;
        let a = id("a");
        let dropped = tokio::time::timeout(Duration::ZERO, journal.reset(&a));
        assert!(dropped.await.is_err());
        while place.number(WAITING).await == 0 {
            // The server looks again only for somebody who has not asked for a tenth of a second.
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
        let later = async {
            if everything {
                while journal.reset(&id("a")).await.unwrap() != ResetProgress::Done {}
            } else {
                let all = EventDeletion::up_to(SequenceNr::MAX);
                journal.delete_messages_to(&id("a"), all).await.unwrap();
            }
        };
        let mut later = std::pin::pin!(later);
        let soon = tokio::time::timeout(Duration::from_millis(50), later.as_mut());
        assert!(soon.await.is_err());
        // It has none of the two connections yet that write.
        let stranger = WriterId::random();
        journal.recover(&id("b"), stranger).await.unwrap();
        execute(&mut other, "ROLLBACK").await;
        later.await;
    }
}

/// The delete has looked for the highest number before the reset is done.
#[tokio::test]
async fn a_delete_that_waits_for_a_reset_elsewhere_brings_no_numbers_back() {
    let place = Place::new().await;
    let (here, there) = (place.journal().await, place.journal().await);
    store(&here, &id("a"), 10).await;
    for all in [false, true] {
        let mut other = place.connection().await;
        execute(
            &mut other,
            "START TRANSACTION; SELECT * FROM journal_metadata WHERE persistence_id = 'Test|a' FOR UPDATE",
        )
        .await;
        let a = id("a");
        let mut reset =
            Box::pin(async { while here.reset(&a).await.unwrap() != ResetProgress::Done {} });
        let wait_for = async |waiting| {
            while place.number(WAITING).await < waiting {
                // The server looks again only for somebody who has not asked for a tenth of a second.
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
        };
        tokio::select! {
            () = &mut reset => unreachable!("the id is locked"),
            () = wait_for(1) => {}
        }
        let to = if all { SequenceNr::MAX } else { 5 };
        let mut delete = Box::pin(there.delete_messages_to(&a, EventDeletion::up_to(to)));
        tokio::select! {
            _ = &mut delete => unreachable!("the id is locked"),
            () = wait_for(2) => {}
        }
        execute(&mut other, "ROLLBACK").await;
        let ((), deleted) = tokio::join!(reset, delete);
        deleted.unwrap();
        let head = here.read_head(&a).await.unwrap();
        assert_eq!((head.highest_sequence_nr, head.deleted_to), (0, 0));
        store(&here, &a, 10).await;
        assert_eq!(numbers(&there, &a).await.len(), 10);
    }
}

/// The recovery has looked for the newest event before the reset is done.
#[tokio::test]
async fn a_take_over_that_waits_for_a_reset_elsewhere_brings_no_numbers_back() {
    let place = Place::new().await;
    let (here, there) = (place.journal().await, place.journal().await);
    store(&here, &id("a"), 10).await;
    let mut other = place.connection().await;
    execute(
        &mut other,
        "START TRANSACTION; SELECT * FROM journal_metadata WHERE persistence_id = 'Test|a' FOR UPDATE",
    )
    .await;
    let a = id("a");
    let mut reset =
        Box::pin(async { while here.reset(&a).await.unwrap() != ResetProgress::Done {} });
    let wait_for = async |waiting| {
        while place.number(WAITING).await < waiting {
            // The server looks again only for somebody who has not asked for a tenth of a second.
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    };
    tokio::select! {
        () = &mut reset => unreachable!("the id is locked"),
        () = wait_for(1) => {}
    }
    let mut recovery = Box::pin(there.recover(&a, WriterId::random()));
    tokio::select! {
        _ = &mut recovery => unreachable!("the id is locked"),
        () = wait_for(2) => {}
    }
    execute(&mut other, "ROLLBACK").await;
    let ((), recovered) = tokio::join!(reset, recovery);
    assert_eq!(recovered.unwrap().highest_sequence_nr, 0);
    let head = here.read_head(&a).await.unwrap();
    assert_eq!((head.highest_sequence_nr, head.deleted_to), (0, 0));
}
