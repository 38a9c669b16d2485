//! The counters that number events and changes of states.

use std::time::Duration;

use actix_persistence_storage_api::{
    Journal, Payload, StateChangesQuery, StateOffset, StateStore, StateUpdate, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::commit_order::id_in;
use crate::database::execute;
use crate::place::{Place, id, store, write};

fn state(name: &str, text: &'static str) -> StateUpdate {
    StateUpdate::new(id(name), 1, Payload::new(1, "m", text))
}

#[tokio::test]
async fn a_group_waits_for_no_partitions_but_those_that_it_numbers() {
    number_beside_other_partitions(&Place::new().await).await;
}

/// As two lanes do, which share out the partitions.
pub(crate) async fn number_beside_other_partitions(place: &Place) {
    let options = place.options().with_server(|mut server| {
        server.lock_timeout = Duration::from_secs(1);
        server
    });
    let journal = place.journal_with(options).await;
    let writer = WriterId::random();
    let mut writes = Vec::new();
    for id in [1, 3, 5, 7].map(id_in) {
        let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
        writes.push(write(&id, epoch, writer, 1..=1));
    }
    let mut other = place.connection().await;
    execute(&mut other, "START TRANSACTION").await;
    for partition in [0, 2, 4, 6] {
        let number = format!(
            "UPDATE event_journal_ordering SET newest = newest + 1 WHERE partition_nr = {partition}"
        );
        execute(&mut other, number).await;
    }
    let outcomes = journal.write_messages(writes).await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.is_stored()));
    execute(&mut other, "ROLLBACK").await;
}

/// Plays the crash of a server that had shown a commit and not yet written it.
#[tokio::test]
async fn no_number_is_given_again_when_a_commit_that_was_read_is_gone() {
    let place = Place::new().await;
    let states = place.state_store_with(place.options()).await;
    let queries = states.queries().unwrap();
    let journal = place.journal().await;
    let ids = [1, 3, 5, 7].map(id_in);
    let append = || async {
        let writer = WriterId::random();
        let mut writes = Vec::new();
        for id in &ids {
            let epoch = journal.take_over_one(id, writer).await.unwrap().epoch;
            writes.push(write(id, epoch, writer, 1..=2));
        }
        // Of several partitions, and of one.
        let last = writes.split_off(3);
        for writes in [writes, last] {
            let outcomes = journal.write_messages(writes).await.unwrap();
            assert!(outcomes.iter().all(|outcome| outcome.is_stored()));
        }
    };
    states.upsert(state("a", "phantom")).await.unwrap();
    append().await;
    let query = StateChangesQuery::new("Test", 10);
    let read = queries.changes(query.clone()).await.unwrap();
    assert_eq!(read.changes.len(), 1);
    let highest = "SELECT MIN(highest) FROM (SELECT MAX(ordering) AS highest FROM event_journal GROUP BY partition_nr) AS a";
    let highest = place.number(highest).await;
    place
        .run(
            "DELETE FROM durable_state; DELETE FROM event_journal; DELETE FROM journal_metadata; \
             UPDATE durable_state_ordering SET newest = 0; UPDATE event_journal_ordering SET newest = 0",
        )
        .await;
    states.upsert(state("a", "real")).await.unwrap();
    let query = query.after(read.offset);
    let found = queries.changes(query).await.unwrap().changes;
    assert_eq!(found.len(), 1);
    append().await;
    let again = place
        .number("SELECT MIN(ordering) FROM event_journal")
        .await;
    assert!(again > highest, "{again} after {highest}");
}

/// A clock that was set back, or is behind that of the server before.
#[tokio::test]
async fn numbers_go_on_where_the_clock_is_behind_them() {
    const AHEAD: i64 = i64::MAX / 2;
    let place = Place::new().await;
    let states = place.state_store_with(place.options()).await;
    let journal = place.journal().await;
    for table in ["durable_state", "event_journal"] {
        place
            .run(format!("UPDATE {table}_ordering SET newest = {AHEAD}"))
            .await;
    }
    states.upsert(state("a", "1")).await.unwrap();
    store(&journal, &id("a"), 3).await;
    store(&journal, &id("a"), 2).await;
    let found = place.number("SELECT ordering FROM durable_state").await;
    assert_eq!(found, AHEAD + 1);
    for (sequence_nr, ordering) in [(1, 1), (3, 3), (4, 4), (5, 5)] {
        let sql = format!("SELECT ordering FROM event_journal WHERE sequence_nr = {sequence_nr}");
        let found = actix_persistence_sql_tests::Tables::number(&place, &sql).await;
        assert_eq!(found, AHEAD + ordering);
    }
}

#[tokio::test]
async fn counters_behind_their_rows_are_raised_at_the_start() {
    /// Beyond every clock.
    const AHEAD: i64 = i64::MAX / 2;
    let place = Place::new().await;
    let states = place.state_store_with(place.options()).await;
    let journal = place.journal().await;
    let mut offset = StateOffset::start();
    for (name, entity_type) in [("1", "Test"), ("2", "Zebra")] {
        let id = actix_persistence_storage_api::PersistenceId::of(entity_type, name);
        let update = StateUpdate::new(id.clone(), 1, Payload::new(1, "m", "1"));
        states.upsert(update).await.unwrap();
        store(&journal, &id, 2).await;
    }
    // As if the tables of counters came from an earlier backup.
    place
        .run(format!(
            "UPDATE durable_state SET ordering = ordering + {AHEAD}; \
             UPDATE event_journal SET ordering = ordering + {AHEAD}"
        ))
        .await;
    let states = place.state_store_with(place.options()).await;
    let journal = place.journal().await;
    let behind = "SELECT COUNT(*) FROM durable_state AS s JOIN durable_state_ordering AS o USING (partition_nr) \
                  WHERE s.ordering > o.newest";
    assert_eq!(place.number(behind).await, 0);
    let behind = "SELECT COUNT(*) FROM event_journal AS s JOIN event_journal_ordering AS o USING (partition_nr) \
                  WHERE s.ordering > o.newest";
    assert_eq!(place.number(behind).await, 0);
    let queries = states.queries().unwrap();
    let query = |offset| StateChangesQuery::new("Zebra", 10).after(offset);
    offset = queries.changes(query(offset)).await.unwrap().offset;
    let id = actix_persistence_storage_api::PersistenceId::of("Zebra", "2");
    let update = StateUpdate::new(id.clone(), 2, Payload::new(1, "m", "2"));
    states.upsert(update).await.unwrap();
    assert_eq!(
        queries.changes(query(offset)).await.unwrap().changes.len(),
        1
    );
    store(&journal, &id, 1).await;
    let sql = "SELECT COUNT(*) FROM event_journal AS a JOIN event_journal AS b USING (persistence_id) \
               WHERE a.sequence_nr < b.sequence_nr AND a.ordering > b.ordering";
    assert_eq!(place.number(sql).await, 0);
}
