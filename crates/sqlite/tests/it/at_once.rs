//! Groups that are stored by texts with the whole transaction in them: what stops one, and what it leaves.

use actix_persistence_storage_api::{
    AtomicWrite, Effect, Journal, PersistenceId, StorageErrorKind, WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::place::{Place, event, failure, id, numbers, write};

/// More than one statement takes.
const MANY: u64 = 300;

/// Takes so many ids over.
async fn take_over(
    journal: &dyn Journal,
    number: u64,
    writer: WriterId,
) -> Vec<(PersistenceId, u64)> {
    let mut taken = Vec::new();
    for number in 0..number {
        let id = id(&format!("{number:03}"));
        let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
        taken.push((id, epoch));
    }
    taken
}

/// Returns a write of events with two tags each.
fn tagged(id: &PersistenceId, epoch: u64, writer: WriterId, from: u64, number: u64) -> AtomicWrite {
    let events = (from..from + number)
        .map(|number| event(number, writer, "x").with_tags(["even".into(), format!("n:{number}")]));
    AtomicWrite::new(id.clone(), epoch, events.collect()).unwrap()
}

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

#[tokio::test]
async fn a_loser_among_many_winners_is_left_out_with_its_tags() {
    let place = Place::new();
    let journal = place.journal().await;
    let writer = WriterId::random();
    let taken = take_over(&journal, MANY, writer).await;
    // One in the middle of each statement loses, once for its epoch and once for its number.
    let losers = [5, 140, 290];
    let robbed = journal.take_over_one(&taken[5].0, WriterId::random());
    robbed.await.unwrap();
    let group = taken.iter().enumerate().map(|(place, (id, epoch))| {
        let from = if losers[1..].contains(&place) { 2 } else { 1 };
        tagged(id, *epoch, writer, from, 1 + place as u64 % 3)
    });
    let outcomes = journal.write_messages(group.collect()).await.unwrap();
    let mut events = 0;
    for (place, outcome) in outcomes.iter().enumerate() {
        let stored = numbers(&journal, &taken[place].0).await;
        if losers.contains(&place) {
            let error = failure(outcome);
            assert_eq!(error.kind(), StorageErrorKind::SequenceConflict);
            assert_eq!(stored, [0_u64; 0]);
        } else {
            assert!(outcome.is_stored(), "{outcome:?}");
            assert_eq!(stored.len() as u64, 1 + place as u64 % 3);
            events += stored.len() as i64;
        }
    }
    let tags = place.number("SELECT COUNT(*) FROM event_tag").await;
    assert_eq!(tags, 2 * events);
    assert_usable(&place, &journal, &id("after")).await;
}

#[tokio::test]
async fn events_of_an_id_on_both_sides_of_a_statement_are_stored() {
    let place = Place::new();
    let journal = place.journal().await;
    let writer = WriterId::random();
    let taken = take_over(&journal, 3, writer).await;
    for round in 0..3 {
        // Numbers that are not those of statements; each id goes on in the next one, and in writes of its own.
        let group = [100, 60, 40]
            .into_iter()
            .zip(&taken)
            .flat_map(|(number, (id, epoch))| {
                let from = round * (number + 7) + 1;
                [
                    write(id, *epoch, writer, from..=from + number - 1),
                    tagged(id, *epoch, writer, from + number, 7),
                ]
            });
        let outcomes = journal.write_messages(group.collect()).await.unwrap();
        assert!(outcomes.iter().all(WriteOutcome::is_stored), "{outcomes:?}");
    }
    for (number, (id, _)) in [107, 67, 47].into_iter().zip(&taken) {
        let expected: Vec<u64> = (1..=3 * number).collect();
        assert_eq!(numbers(&journal, id).await, expected);
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
