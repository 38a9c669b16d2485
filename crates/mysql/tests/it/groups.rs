//! Groups of many ids, and what stops one.

use actix_persistence_sql_tests::Tables;
use actix_persistence_sql_tests::journal::groups::{tagged, take_over};
use actix_persistence_storage_api::{Effect, StorageErrorKind, WriteOutcome, WriterId};
use actix_persistence_tck::TakeOverOne;

use crate::commit_order::id_in;
use crate::place::{Place, store, write};

actix_persistence_sql_tests::test_groups!(Place::new().await);

#[tokio::test]
async fn a_trigger_that_stops_a_row_of_a_group_stores_none() {
    for (table, column, value) in [
        ("journal_metadata", "persistence_id", "Test|002"),
        ("event_journal", "persistence_id", "Test|002"),
        ("event_tag", "tag", "n:1"),
    ] {
        let place = Place::new().await;
        let journal = Tables::journal(&place).await;
        let writer = WriterId::random();
        let taken = take_over(&*journal, 5, writer).await;
        let stop = format!(
            "CREATE TRIGGER stop BEFORE INSERT ON {table} FOR EACH ROW
             IF NEW.{column} = '{value}' THEN SIGNAL SQLSTATE '45000'; END IF"
        );
        place.run(stop).await;
        let group = taken
            .iter()
            .map(|(id, epoch)| tagged(id, *epoch, writer, 1, 2));
        let group: Vec<_> = group.collect();
        let error = journal.write_messages(group.clone()).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Backend, "{error:?}");
        assert_eq!(error.effect(), Some(Effect::NotStored), "{error:?}");
        for table in ["event_journal", "event_tag"] {
            let rows = format!("SELECT COUNT(*) FROM {table}");
            assert_eq!(place.number(&rows).await, 0);
        }
        place.run("DROP TRIGGER stop").await;
        let outcomes = journal.write_messages(group).await.unwrap();
        assert!(outcomes.iter().all(WriteOutcome::is_stored), "{outcomes:?}");
        store(&*journal, &taken[0].0, 1).await;
    }
}

#[tokio::test]
async fn a_column_that_numbers_rows_by_itself_moves_no_tag() {
    let place = Place::new().await;
    let journal = Tables::journal(&place).await;
    for table in ["event_journal", "event_tag"] {
        let column = format!(
            "ALTER TABLE {table} ADD COLUMN mine BIGINT NOT NULL AUTO_INCREMENT, ADD KEY (mine), AUTO_INCREMENT = 5000"
        );
        place.run(column).await;
    }
    let writer = WriterId::random();
    let taken = take_over(&*journal, 1, writer).await;
    let (id, epoch) = &taken[0];
    let group = vec![tagged(id, *epoch, writer, 1, 3)];
    let outcomes = journal.write_messages(group).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
    let found = "SELECT COUNT(*) FROM event_tag AS t
        JOIN event_journal AS e ON e.partition_nr = t.partition_nr AND e.ordering = t.ordering";
    assert_eq!(place.number(found).await, 2 * 3);
}

#[tokio::test]
async fn a_counter_that_is_missing_is_what_the_error_names() {
    let place = Place::new().await;
    let journal = Tables::journal(&place).await;
    let writer = WriterId::random();
    let mut writes = Vec::new();
    for id in [1, 3, 5].map(id_in) {
        let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
        writes.push(write(&id, epoch, writer, 1..=2));
    }
    place.run("DELETE FROM event_journal_ordering").await;
    // Of one partition, and of several.
    for group in [vec![writes[0].clone()], writes] {
        let error = journal.write_messages(group).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Corrupt, "{error:?}");
        assert!(error.is_not_stored(), "{error:?}");
        assert!(format!("{error:?}").contains("lacks a row"), "{error:?}");
    }
}
