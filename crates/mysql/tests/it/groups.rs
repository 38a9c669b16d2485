//! Groups of many ids, and what stops one.

use actix_persistence_sql_tests::Tables;
use actix_persistence_sql_tests::journal::groups::{tagged, take_over};
use actix_persistence_storage_api::{Effect, StorageErrorKind, WriteOutcome, WriterId};

use crate::place::{Place, store};

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
