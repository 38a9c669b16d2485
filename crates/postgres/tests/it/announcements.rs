//! A transaction is announced before it has a number: docs/adr/0014-base-and-bound.md.

use std::sync::Arc;

use actix_persistence_postgres::{PostgresJournal, PostgresStateStore};
use actix_persistence_sql_tests::steps::event;
use actix_persistence_storage_api::{
    AtomicWrite, ChangeEvent, ChangeHandler, ExtensionError, Fence, Journal, Payload,
    PersistenceId, Session, StateChange, StateExtensions, StateStore, StateUpdate,
    StorageErrorKind, WriterId,
};
use async_trait::async_trait;

use crate::database::execute;
use crate::event_reader::{EVENT_CLASS, STATE_CLASS};
use crate::place::{Place, assert_error, id};

/// The class of transactions that store rows of several tables.
const ANY_STORE: i64 = 1;
/// Another transaction of the server may end after the keys were locked, and move the next one beyond them.
const KEYS: i64 = 500;
const ATTEMPTS: u64 = 100;

/// Returns whether a session that waits for an advisory lock has no number; none if no session waits.
async fn waits_without_a_number(place: &Place) -> Option<bool> {
    let sql = "SELECT a.backend_xid IS NULL FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) \
        WHERE l.locktype = 'advisory' AND NOT l.granted AND a.datname = current_database()";
    let mut connection = place.connection().await;
    let found = sqlx::query_scalar(sql)
        .fetch_optional(&mut connection)
        .await;
    found.unwrap()
}

/// Checks that an operation waits for a lock with a key of the class before its transaction has a number, however the
/// server runs its statements. The operation gets the number of the attempt, and stores something each time.
async fn assert_announced<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    place: &Place,
    class: i64,
    operation: impl Fn(u64) -> F,
) {
    for attempt in 1..=ATTEMPTS {
        let mut others = place.connection().await;
        let lock = format!(
            "SELECT count(pg_advisory_lock({} | n)) FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint) \
             AS s (next), generate_series(next, next + {KEYS}) AS n",
            class << 48
        );
        execute(&mut others, lock).await;
        let running = tokio::spawn(operation(attempt));
        let found = loop {
            if let Some(found) = waits_without_a_number(place).await {
                break Some(found);
            }
            if running.is_finished() {
                break None;
            }
        };
        execute(&mut others, "SELECT pg_advisory_unlock_all()").await;
        running.await.unwrap();
        if let Some(without_a_number) = found {
            assert!(
                without_a_number,
                "the number was there before the announcement"
            );
            return;
        }
    }
    panic!("the operation waits for no lock of the class {class}");
}

/// Stores an event of an id of its own.
async fn store(journal: Arc<PostgresJournal>, number: u64, fence: Fence, tags: &[&str]) {
    let (id, writer) = (id(&number.to_string()), WriterId::random());
    let mut event = event(1, writer, "1");
    event.tags = tags.iter().map(|tag| (*tag).into()).collect();
    let write = AtomicWrite::new(id, fence, vec![event]).unwrap();
    let outcomes = journal.write_messages(vec![write]).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_announced_before_their_transaction_has_a_number() {
    let place = Place::new().await;
    let journal = Arc::new(place.journal().await);
    let row = "INSERT INTO journal_metadata SELECT 'Test|' || n, 0, 0, 0, 1, decode(repeat('00', 16), 'hex') \
        FROM generate_series(1, 1000) AS n";
    place.run(row).await;
    let (holds, takes_over) = (Fence::Holds(1), Fence::TakesOver { from: 0 });
    // Only the first ids were taken over.
    for (first, fence, tags) in [
        (0, holds, &[][..]),
        (500, holds, &["a"]),
        (1_000, takes_over, &[]),
        (1_500, takes_over, &["a"]),
    ] {
        assert_announced(&place, EVENT_CLASS, |attempt| {
            let journal = Arc::clone(&journal);
            async move { store(journal, first + attempt, fence, tags).await }
        })
        .await;
    }
}

fn state(name: &str, revision: u64) -> StateUpdate {
    StateUpdate::new(id(name), revision, Payload::new(1, "m", "1"))
}

fn with_event(state: StateUpdate) -> StateUpdate {
    let payload = Payload::new(1, "m", "1");
    state.with_change_event(ChangeEvent::new(payload, WriterId::random()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn states_are_announced_before_their_transaction_has_a_number() {
    let place = Place::new().await;
    let states = Arc::new(place.state_store_with(place.options()).await);
    assert_announced(&place, STATE_CLASS, |attempt| {
        let states = Arc::clone(&states);
        async move { states.upsert(state(&attempt.to_string(), 1)).await.unwrap() }
    })
    .await;
    states.upsert(state("a", 1)).await.unwrap();
    assert_announced(&place, STATE_CLASS, |attempt| {
        let states = Arc::clone(&states);
        async move { states.upsert(state("a", attempt + 1)).await.unwrap() }
    })
    .await;
    let options = place.options();
    let options = options.with_store(|store| store.with_assert_single_writer(false));
    let any = Arc::new(place.state_store_with(options).await);
    assert_announced(&place, STATE_CLASS, |_| {
        let any = Arc::clone(&any);
        async move { any.upsert(state("a", 7)).await.unwrap() }
    })
    .await;
    assert_announced(&place, STATE_CLASS, |attempt| {
        let states = Arc::clone(&states);
        let group = ["x", "y"].map(|name| state(name, attempt).into());
        async move { states.write_group(group.into()).await.unwrap() }
    })
    .await;
    assert_announced(&place, ANY_STORE, |attempt| {
        let any = Arc::clone(&any);
        let group = ["x", "y"].map(|name| state(name, attempt).into());
        async move { any.write_group(group.into()).await.unwrap() }
    })
    .await;
}

/// Does nothing: the transaction has several statements all the same.
struct Nothing;

#[async_trait]
impl ChangeHandler for Nothing {
    async fn process(
        &self,
        _session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn states_with_events_or_handlers_are_announced_first_too() {
    let place = Place::new().await;
    let mut extensions = StateExtensions::default();
    extensions.entity_type("Handled").change_handler = Some(Arc::new(Nothing));
    let states = PostgresStateStore::with_extensions(place.options(), &extensions).unwrap();
    let states = states.with_change_event_journal(place.options()).unwrap();
    states.initialize().await.unwrap();
    let states = Arc::new(states);
    let of_type = |entity_type: &str, attempt: u64| {
        let mut state = state("a", attempt);
        state.persistence_id = PersistenceId::of(entity_type, "a");
        state
    };
    for entity_type in ["Plain", "Handled"] {
        assert_announced(&place, ANY_STORE, |attempt| {
            let (states, state) = (Arc::clone(&states), of_type(entity_type, attempt));
            async move { states.upsert(with_event(state)).await.unwrap() }
        })
        .await;
    }
    let mut state = of_type("Handled", 1);
    state.persistence_id = PersistenceId::of("Handled", "b");
    assert_announced(&place, STATE_CLASS, |attempt| {
        let (states, mut state) = (Arc::clone(&states), state.clone());
        state.revision = attempt;
        async move { states.upsert(state).await.unwrap() }
    })
    .await;
}

/// It runs before the first row is looked at, and what it writes would be the first thing that the transaction does.
#[tokio::test]
async fn a_trigger_that_comes_before_the_announcement_is_refused() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let states = place.state_store_with(place.options()).await;
    place
        .run("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
        .await;
    let trigger = |table: &str, when: &str| {
        format!("CREATE TRIGGER mine {when} ON {table} EXECUTE FUNCTION f()")
    };
    for table in ["journal_metadata", "durable_state"] {
        place.run(trigger(table, "AFTER INSERT OR UPDATE")).await;
        journal.initialize().await.unwrap();
        states.initialize().await.unwrap();
        place.run(format!("DROP TRIGGER mine ON {table}")).await;
        place.run(trigger(table, "BEFORE DELETE")).await;
        journal.initialize().await.unwrap();
        states.initialize().await.unwrap();
        place.run(format!("DROP TRIGGER mine ON {table}")).await;
        place.run(trigger(table, "BEFORE DELETE OR UPDATE")).await;
        let error = match table {
            "durable_state" => states.initialize().await.unwrap_err(),
            _ => journal.initialize().await.unwrap_err(),
        };
        assert_error(&error, StorageErrorKind::SchemaMismatch, "'mine'");
        place.run(format!("DROP TRIGGER mine ON {table}")).await;
    }
}
