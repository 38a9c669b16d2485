//! The order in which queries read states: docs/adr/0014-base-and-bound.md.

use std::sync::Arc;

use actix_persistence_postgres::PostgresStateStore;
use actix_persistence_storage_api::{
    ChangeEvent, ChangeHandler, ExtensionError, FindStates, Payload, PersistenceId, Session,
    SessionWork, SqlValue, StateChange, StateChangesQuery, StateExtensions, StateStore,
    StateUpdate, WriterId,
};
use async_trait::async_trait;
use sqlx::{AssertSqlSafe, PgConnection, Row};
use tokio::sync::Notify;

use crate::database::execute;
use crate::event_reader::{ANNOUNCE, Reader};
use crate::place::{Place, id, store as store_events};

const CHANGES: &str = include_str!("../../src/queries/state_changes.sql");
const FIND: &str = include_str!("../../src/queries/state_find.sql");
const IDS: &str = include_str!("../../src/queries/state_ids.sql");

/// Returns the statement that stores a state as the store does, but in any transaction.
fn insert(name: &str) -> String {
    format!(
        "INSERT INTO durable_state (persistence_id, revision, ordering, timestamp, serializer_id, slice, deleted, manifest, \
         tags, payload) \
         SELECT 'Test|{name}', 1, base + pg_current_xact_id()::text::bigint, 0, 1, 0, false, 'm', '[]', '1' \
         FROM durable_state_ordering"
    )
}

fn changes() -> String {
    with_names(CHANGES)
}

fn with_names(sql: &str) -> String {
    sql.replace("{state_table}", "durable_state")
        .replace("{payload_read}", "e.payload")
        .replace("{payload_size}", "octet_length(e.payload)")
}

/// Runs it from a change on, without a bound.
async fn run(
    connection: &mut PgConnection,
    sql: String,
    (ordering, id): (i64, &str),
) -> Vec<sqlx::postgres::PgRow> {
    let sql = sqlx::query(AssertSqlSafe(sql)).bind("Test").bind(ordering);
    let sql = sql
        .bind(i64::MAX)
        .bind(id)
        .bind(0_i64)
        .bind(1023_i64)
        .bind(100_i64);
    let sql = sql.bind(i64::MAX);
    sql.fetch_all(connection).await.unwrap()
}

fn state(name: &str) -> StateUpdate {
    StateUpdate::new(id(name), 1, Payload::new(1, "m", "1"))
}

/// Reads as a reader would that knows nothing of transactions under way: it shows that the other tests can fail.
#[tokio::test]
async fn a_reader_without_the_bound_would_miss_a_state_that_is_committed_late() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    let mut late = place.connection().await;
    execute(&mut late, format!("BEGIN; {ANNOUNCE}; {}", insert("late"))).await;
    store.upsert(state("early")).await.unwrap();

    let mut connection = place.connection().await;
    let rows = run(&mut connection, changes(), (i64::MIN, "")).await;
    assert_eq!(rows.len(), 1, "only the early one is committed");
    let at: i64 = rows[0].get(1);
    let queries = store.queries().unwrap();
    let query = StateChangesQuery::new("Test", 10);
    let page = queries.changes(query.clone()).await.unwrap();
    assert_eq!(page.changes, [], "what is after an open transaction waits");
    assert!(!page.more);

    execute(&mut late, "COMMIT").await;
    assert_eq!(
        run(&mut connection, changes(), (at, "Test|early"))
            .await
            .len(),
        0,
        "it has missed the late one"
    );
    let mut found = Vec::new();
    let mut query = query.after(page.offset);
    while found.len() < 2 {
        let page = queries.changes(query.clone()).await.unwrap();
        found.extend(page.changes.into_iter().map(|change| change.persistence_id));
        query.after = page.offset;
    }
    assert_eq!(found, [id("late"), id("early")]);
}

/// Waits within the transaction until it may go on.
#[derive(Default)]
struct Slow {
    began: Notify,
    may_end: Notify,
}

impl Slow {
    async fn wait(&self) {
        self.began.notify_one();
        self.may_end.notified().await;
    }
}

#[async_trait]
impl ChangeHandler for Slow {
    async fn process(
        &self,
        _session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        self.wait().await;
        Ok(())
    }
}

/// Returns the ids of all changes of a type that are shown now.
async fn shown(store: &PostgresStateStore, entity_type: &str) -> Vec<PersistenceId> {
    let queries = store.queries().unwrap();
    let page = queries
        .changes(StateChangesQuery::new(entity_type, 100))
        .await;
    let changes = page.unwrap().changes.into_iter();
    changes.map(|change| change.persistence_id).collect()
}

/// A state with an event is stored together with it, so readers of both wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_change_handler_holds_back_readers_of_what_it_stores() {
    for has_event in [false, true] {
        let place = Place::new().await;
        let journal = place.journal().await;
        let slow = Arc::new(Slow::default());
        let mut extensions = StateExtensions::default();
        extensions.entity_type("Slow").change_handler = Some(slow.clone());
        extensions.entity_type("Other").table = Some("other_state".to_owned());
        let states = PostgresStateStore::with_extensions(place.options(), &extensions).unwrap();
        let states = states.with_change_event_journal(place.options()).unwrap();
        states.initialize().await.unwrap();
        let states = Arc::new(states);
        let of_type = |entity_type| {
            let id = PersistenceId::of(entity_type, "a");
            StateUpdate::new(id, 1, Payload::new(1, "m", "1"))
        };
        let mut update = of_type("Slow");
        if has_event {
            let payload = Payload::new(1, "m", "1");
            update = update.with_change_event(ChangeEvent::new(payload, WriterId::random()));
        }
        let writing = tokio::spawn({
            let states = Arc::clone(&states);
            async move { states.upsert(update).await }
        });
        slow.began.notified().await;
        for entity_type in ["Plain", "Other"] {
            states.upsert(of_type(entity_type)).await.unwrap();
        }
        store_events(&journal, &id("a"), 1).await;

        assert_eq!(shown(&states, "Plain").await, []);
        let mut reader = Reader::new(&place);
        let waiting = usize::from(has_event);
        assert_eq!(shown(&states, "Other").await.len(), 1 - waiting);
        assert_eq!(reader.read(10).await, 1 - waiting);
        slow.may_end.notify_one();
        writing.await.unwrap().unwrap();
        for entity_type in ["Plain", "Other", "Slow"] {
            assert_eq!(shown(&states, entity_type).await.len(), 1, "{entity_type}");
        }
        reader.read_until(1 + waiting).await;
    }
}

/// Such as one that brings a view up to date, and notes how far it got.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_transaction_of_the_application_holds_back_no_reader() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let states = Arc::new(place.state_store_with(place.options()).await);
    place.run("CREATE TABLE view (a INTEGER)").await;
    let slow = Arc::new(Slow::default());
    let transaction = tokio::spawn({
        let (states, slow) = (Arc::clone(&states), Arc::clone(&slow));
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session
                    .execute("INSERT INTO public.view VALUES (1)", [])
                    .await?;
                slow.wait().await;
                Ok(())
            })
        });
        async move { states.sql().unwrap().transact(work).await }
    });
    slow.began.notified().await;
    store_events(&journal, &id("a"), 2).await;
    states.upsert(state("a")).await.unwrap();
    assert_eq!(Reader::new(&place).read(10).await, 2);
    assert_eq!(shown(&states, "Test").await, [id("a")]);
    slow.may_end.notify_one();
    transaction.await.unwrap().unwrap();
}

#[tokio::test]
async fn changes_are_found_by_their_index() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    store.upsert(state("a")).await.unwrap();
    let mut connection = place.connection().await;
    execute(&mut connection, "SET enable_seqscan = off").await;
    let plan = run(&mut connection, format!("EXPLAIN {}", changes()), (0, "")).await;
    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    let plan = plan.join("\n");
    let used = plan.contains("durable_state_changed") && plan.contains("ordering");
    assert!(used && !plan.contains("Seq Scan"), "{plan}");
}

/// However many states of other types there are, a page reads those that it gives.
#[tokio::test]
async fn a_page_of_states_or_ids_reads_what_it_gives() {
    let place = Place::new().await;
    let _store = place.state_store_with(place.options()).await;
    let mut connection = place.connection().await;
    execute(
        &mut connection,
        "INSERT INTO durable_state (persistence_id, revision, ordering, timestamp, serializer_id, slice, deleted, manifest, tags, payload)
         SELECT CASE WHEN n % 10 = 0 THEN 'Zebra|' ELSE 'Account|' END || n, 1, n, 0, 1, n % 1024, false, 'm', '[]', '1'
         FROM generate_series(1, 100000) AS n",
    )
    .await;
    let of_type = |sql: &str| with_names(&sql.replace("/*type*/", ""));
    let find = of_type(FIND)
        .replace("/*condition*/", "(1 = 1)")
        .replace("$lowest_at", "$1")
        .replace("$end_at", "$2")
        .replace("$limit_at", "$4")
        .replace("$bytes_at", "$3");
    execute(&mut connection, "ANALYZE durable_state").await;
    for sql in [&find, &of_type(IDS)] {
        let sql = sqlx::query(AssertSqlSafe(format!(
            "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {sql}"
        )));
        let sql = sql
            .bind("Zebra|5")
            .bind("Zebra}")
            .bind(1_000_000_i64)
            .bind(100_i64);
        let plan = sql.fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        let steps = plan.split("(actual rows=").skip(1);
        let rows = steps.map(|step| step.split(' ').next().unwrap().parse::<u64>().unwrap());
        assert!(rows.max().is_some_and(|most| most <= 100), "{plan}");
        assert!(!plan.contains("Rows Removed"), "{plan}");
    }
}

/// Returns the settings that the plugin gives the planner for the statements of a store, as a trigger sees them.
async fn planner_settings(place: &Place, store: &PostgresStateStore) -> String {
    place
        .run(
            "CREATE TABLE seen (settings TEXT);
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO public.seen SELECT string_agg('SET ' || name || ' = ' || setting, '; ') FROM pg_settings
             WHERE source = 'session' AND (name LIKE 'enable_%' OR name = 'jit'); RETURN NEW; END $$;
             CREATE TRIGGER see BEFORE INSERT ON durable_state FOR EACH ROW EXECUTE FUNCTION see()",
        )
        .await;
    let state = StateUpdate::new(id("a"), 1, Payload::new(1, "m", "1"));
    store.upsert(state).await.unwrap();
    let found = sqlx::query_scalar("SELECT settings FROM seen");
    let found = found.fetch_one(&mut place.connection().await).await;
    place
        .run("TRUNCATE durable_state; DROP TRIGGER see ON durable_state")
        .await;
    found.unwrap()
}

/// The plan is kept for as long as a connection lives, unless somebody analyses the table.
#[tokio::test]
async fn a_plan_made_for_an_empty_table_reads_one_page_of_a_large_one() {
    const PAGE: i64 = 100;
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    place
        .run("ALTER TABLE durable_state SET (autovacuum_enabled = off)")
        .await;
    let settings = planner_settings(&place, &store).await;
    assert!(settings.contains("enable_seqscan = off"), "{settings}");
    let mut connection = place.connection().await;
    execute(&mut connection, settings).await;
    execute(&mut connection, "SET plan_cache_mode = force_generic_plan").await;
    execute(&mut connection, format!("PREPARE page AS {}", changes())).await;
    let page = format!("page ('Test', -1, 1000000, '', 0, 1023, {PAGE}, 1000000)");
    execute(&mut connection, format!("EXECUTE {page}")).await;
    place
        .run(
            "INSERT INTO durable_state (persistence_id, revision, ordering, timestamp, serializer_id, slice, deleted, \
                 manifest, tags, payload) \
             SELECT 'Test|' || n, 1, n % 50000, 0, 1, n % 1024, false, 'm', '[]', '1' \
             FROM generate_series(1, 100000) AS n",
        )
        .await;
    let explain = format!("EXPLAIN (ANALYZE, TIMING OFF) EXECUTE {page}");
    let plan: Vec<String> = sqlx::raw_sql(AssertSqlSafe(explain))
        .fetch_all(&mut connection)
        .await
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect();
    let scan = plan
        .iter()
        .find(|line| line.contains("Index Scan"))
        .unwrap();
    let (_, rows) = scan.split_once("actual rows=").unwrap();
    let (rows, _) = rows.split_once(' ').unwrap();
    let rows: f64 = rows.parse().unwrap();
    assert!(rows <= 2.0 * PAGE as f64, "{plan:#?}");
}

/// Sees each row that a plan looks at, before anything else of the condition does.
const COUNTED: &str = "\
CREATE SEQUENCE looked_at;
CREATE FUNCTION is_looked_at() RETURNS boolean LANGUAGE plpgsql VOLATILE COST 0.0001 AS
    'BEGIN PERFORM nextval(''public.looked_at''); RETURN true; END';
ALTER TABLE durable_state SET (autovacuum_enabled = off);
ALTER TABLE durable_state ADD COLUMN title TEXT;
CREATE INDEX by_title ON durable_state (title)";

/// A page looks at few rows, both if few states are found by an index of the application and if many are found in the
/// order of ids.
#[tokio::test]
async fn states_are_found_by_a_selective_index_of_the_application() {
    const PAGE: usize = 100;
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    execute(&mut place.connection().await, COUNTED).await;
    let find = |title: &'static str| {
        let values = [SqlValue::from(title)];
        let query = FindStates::new("Test", "is_looked_at() AND title = $1", values, PAGE);
        let states = store.sql().unwrap();
        async move { states.find(query).await.unwrap().len() }
    };
    // Plans may be kept that were made while the table was empty.
    for _ in 0..10 {
        assert_eq!(find("rare").await + find("usual").await, 0);
    }
    place
        .run(
            "INSERT INTO durable_state (persistence_id, revision, ordering, timestamp, serializer_id, slice, deleted, manifest, \
                 tags, payload, title) \
             SELECT 'Test|' || n, 1, n, 0, 1, n % 1024, false, 'm', '[]', '1', \
                    CASE WHEN n % 10000 = 0 THEN 'rare' ELSE 'usual' END \
             FROM generate_series(1, 100000) AS n",
        )
        .await;
    for (sql, title, expected) in [
        ("SELECT 1", "rare", 10),
        ("ANALYZE durable_state", "rare", 10),
        ("SELECT 1", "usual", PAGE),
    ] {
        place.run(sql).await;
        let before = place.number("SELECT nextval('looked_at')").await;
        assert_eq!(find(title).await, expected);
        let seen = place.number("SELECT nextval('looked_at')").await - before - 1;
        assert!(
            seen <= 2 * PAGE as i64,
            "{seen} rows were looked at for {title:?} after {sql}"
        );
    }
}
