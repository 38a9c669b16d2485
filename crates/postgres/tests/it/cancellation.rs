//! Calls whose futures are dropped at any poll.

use std::pin::pin;
use std::time::Duration;

use actix_persistence_postgres::PostgresStateStore;
use actix_persistence_sql_tests::states::extensions::with_idle_handler;
use actix_persistence_sql_tests::until_number;
use actix_persistence_storage_api::{
    Journal, Payload, PersistenceId, SnapshotCriteria, SnapshotMetadata, SnapshotStore,
    StateExtensions, StateStore, StateUpdate, Timestamp, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use sqlx::PgConnection;
use tokio::time::timeout;

use crate::database::execute;
use crate::place::{Place, id, store, write};

actix_persistence_sql_tests::test_cancellation!(Place::new().await);

const WAITING: &str = "\
    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
const RUNNING: &str = "\
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND application_name = 'actix-persistence' AND state <> 'idle'";

/// Runs a call up to its statement, which waits before it does anything, and drops it; then another one, to whose end the
/// statement does not wait. Returns the result of that when the server has done both.
///
/// `statement` is the kind of the first one, and its table.
async fn overtake<T>(
    place: &Place,
    statement: [&str; 2],
    given_up: impl Future,
    later: impl Future<Output = T>,
) -> T {
    let [kind, table] = statement;
    place
        .run(format!(
            "CREATE SEQUENCE calls;
             CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF nextval('public.calls') = 1 THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN NULL; END $$;
             CREATE TRIGGER hold BEFORE {kind} ON {table} FOR EACH STATEMENT EXECUTE FUNCTION hold()"
        ))
        .await;
    let mut other: PgConnection = place.connection().await;
    execute(&mut other, "SELECT pg_advisory_lock(1)").await;
    let waits = until_number(place, WAITING, |number| number > 0);
    tokio::select! {
        _ = given_up => unreachable!("its statement waits"),
        () = waits => {}
    }
    let mut later = pin!(later);
    // Time enough to overtake it, if nothing is in its way.
    let early = timeout(Duration::from_millis(500), later.as_mut()).await;
    execute(&mut other, "SELECT pg_advisory_unlock(1)").await;
    let result = match early {
        Ok(result) => result,
        Err(_) => later.await,
    };
    until_number(place, RUNNING, |number| number == 0).await;
    result
}

/// It would take the id from the one that came later, which is told that it has it.
#[tokio::test]
async fn a_recovery_whose_caller_is_gone_takes_its_id_from_no_later_one() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let (a, writer) = (id("a"), WriterId::random());
    store(&journal, &a, 1).await;
    let given_up = journal.take_over_one(&a, WriterId::random());
    let later = journal.take_over_one(&a, writer);
    let statement = ["INSERT", "journal_metadata"];
    let recovered = overtake(&place, statement, given_up, later).await;
    let next = write(&a, recovered.unwrap().epoch, writer, 2..=2);
    let outcomes = journal.write_messages(vec![next]).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
}

fn metadata(id: &PersistenceId) -> SnapshotMetadata {
    SnapshotMetadata::new(id.clone(), 5, Timestamp::from_micros(7))
}

fn payload(text: &'static str) -> Payload {
    Payload::new(1, "m", text)
}

#[tokio::test]
async fn a_later_snapshot_stays_beside_calls_whose_callers_are_gone() {
    for kind in ["INSERT", "DELETE"] {
        let place = Place::new().await;
        let snapshots = place.snapshot_store().await;
        let a = id("a");
        snapshots.save(metadata(&a), payload("1")).await.unwrap();
        let given_up = async {
            match kind {
                "INSERT" => snapshots.save(metadata(&a), payload("2")).await,
                _ => {
                    let all = SnapshotCriteria::LATEST;
                    snapshots.delete_matching(&a, all).await
                }
            }
        };
        let later = snapshots.save(metadata(&a), payload("3"));
        let saved = overtake(&place, [kind, "snapshot"], given_up, later).await;
        saved.unwrap();
        let found = snapshots.load(&a, SnapshotCriteria::LATEST).await.unwrap();
        let found = found.map(|snapshot| snapshot.payload);
        assert_eq!(found, Some(payload("3")), "{kind}");
    }
}

#[tokio::test]
async fn a_later_state_stays_beside_a_removal_whose_caller_is_gone() {
    let place = Place::new().await;
    let states = place.state_store_with(place.options()).await;
    let a = id("a");
    let state = |revision| StateUpdate::new(id("a"), revision, payload("1"));
    states.upsert(state(1)).await.unwrap();
    let given_up = states.hard_delete(&a);
    let later = states.upsert(state(2));
    let stored = overtake(&place, ["DELETE", "durable_state"], given_up, later).await;
    let found = states.get(&a).await.unwrap().revision;
    // It comes before the removal, or after it, which leaves no revision to follow on.
    assert_eq!(found, if stored.is_ok() { 2 } else { 0 }, "{stored:?}");
}

/// Nothing else keeps an older state from coming last if any revision may replace any.
#[tokio::test]
async fn a_later_state_stays_beside_a_change_whose_caller_is_gone() {
    for has_handler in [false, true] {
        let place = Place::new().await;
        let options = place.options();
        let options = options.with_store(|store| store.with_assert_single_writer(false));
        let extensions = match has_handler {
            true => with_idle_handler(),
            false => StateExtensions::default(),
        };
        let states = PostgresStateStore::with_extensions(options, &extensions).unwrap();
        states.initialize().await.unwrap();
        let a = id("a");
        let state = |text| StateUpdate::new(id("a"), 1, payload(text));
        states.upsert(state("1")).await.unwrap();
        let (given_up, later) = (states.upsert(state("2")), states.upsert(state("3")));
        let stored = overtake(&place, ["UPDATE", "durable_state"], given_up, later).await;
        stored.unwrap();
        let found = states.get(&a).await.unwrap().state.unwrap();
        assert_eq!(found.payload, payload("3"), "{has_handler}");
    }
}
