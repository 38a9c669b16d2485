//! Groups that are stored by texts with the whole transaction in them: what stops one, and what it leaves.

use actix_persistence_sql_tests::journal::groups::{tagged, take_over};
use actix_persistence_storage_api::{
    Effect, Journal, PersistenceId, StorageErrorKind, WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::place::{Place, write};

actix_persistence_sql_tests::test_groups!(Place::new());

/// More than one statement takes.
const MANY: u64 = 300;

/// Fails if a connection has left a transaction open, or if the next write does not go through.
async fn assert_usable(place: &Place, journal: &dyn Journal, id: &PersistenceId) {
    place.run("BEGIN IMMEDIATE; ROLLBACK").await;
    let writer = WriterId::random();
    let taken = journal.take_over_one(id, writer).await.unwrap();
    let next = taken.highest_sequence_nr + 1;
    for number in [next, next + 1] {
        let outcomes = journal
            .write_messages(vec![write(id, taken.epoch, writer, number..=number)])
            .await;
        assert!(outcomes.unwrap()[0].is_stored());
    }
}

/// Writes a group that a trigger stops; it is stored as soon as the trigger is gone.
async fn assert_stopped_by(trigger: &str, kind: StorageErrorKind, size: u64) {
    let place = Place::new();
    let journal = place.journal().await;
    let writer = WriterId::random();
    let taken = take_over(&journal, size, writer).await;
    place.run(trigger).await;
    let group: Vec<_> = taken
        .iter()
        .map(|(id, epoch)| tagged(id, *epoch, writer, 1, 1))
        .collect();
    let error = journal.write_messages(group.clone()).await.unwrap_err();
    assert_eq!(error.kind(), kind, "{error:?}");
    assert_eq!(error.effect(), Some(Effect::NotStored), "{error:?}");
    for table in ["event_journal", "event_tag"] {
        let rows = place.number(&format!("SELECT COUNT(*) FROM {table}")).await;
        assert_eq!(rows, 0, "{trigger}");
    }
    place.run("DROP TRIGGER stop").await;
    let outcomes = journal.write_messages(group).await.unwrap();
    assert!(outcomes.iter().all(WriteOutcome::is_stored), "{outcomes:?}");
    assert_usable(&place, &journal, &taken[0].0).await;
}

#[tokio::test]
async fn a_trigger_that_stops_one_event_of_a_group_stores_none() {
    for size in [1, MANY] {
        for raise in [
            "RAISE(ABORT, 'no')",
            "RAISE(FAIL, 'no')",
            "RAISE(ROLLBACK, 'no')",
        ] {
            let trigger = format!(
                "CREATE TRIGGER stop AFTER INSERT ON event_journal WHEN NEW.persistence_id = 'Test|{:03}'
                 BEGIN SELECT {raise}; END",
                size - 1
            );
            assert_stopped_by(&trigger, StorageErrorKind::Corrupt, size).await;
        }
    }
}

#[tokio::test]
async fn a_trigger_that_leaves_one_event_out_stores_none() {
    for size in [1, MANY] {
        let trigger = format!(
            "CREATE TRIGGER stop BEFORE INSERT ON event_journal WHEN NEW.persistence_id = 'Test|{:03}'
             BEGIN SELECT RAISE(IGNORE); END",
            size / 2
        );
        assert_stopped_by(&trigger, StorageErrorKind::Corrupt, size).await;
    }
}

#[tokio::test]
async fn a_trigger_that_stops_a_tag_stores_no_event() {
    let trigger = "CREATE TRIGGER stop AFTER INSERT ON event_tag WHEN NEW.tag = 'n:1'
         BEGIN SELECT RAISE(ABORT, 'no'); END";
    assert_stopped_by(trigger, StorageErrorKind::Corrupt, 1).await;
}

#[tokio::test]
async fn a_commit_that_a_constraint_refuses_stores_nothing() {
    for size in [1, MANY] {
        let child = "CREATE TABLE parent (nr INTEGER PRIMARY KEY);
             CREATE TABLE child (of INTEGER REFERENCES parent (nr) DEFERRABLE INITIALLY DEFERRED);
             CREATE TRIGGER stop AFTER INSERT ON event_journal BEGIN INSERT INTO child VALUES (1); END";
        // SQLite finds the row that is missing when the transaction is to end.
        assert_stopped_by(child, StorageErrorKind::Corrupt, size).await;
    }
}
