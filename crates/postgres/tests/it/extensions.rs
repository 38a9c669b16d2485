//! Extensions of durable states by applications, beyond the conformance kit.

use std::sync::{Arc, Mutex};

use actix_persistence_postgres::{PostgresPlugin, PostgresStateStore};
use actix_persistence_sql_tests::states::extensions;
use actix_persistence_sql_tests::{OnServer, Tables};
use actix_persistence_storage_api::{
    AdditionalColumn, ChangeEvent, ChangeHandler, ColumnValue, ExtensionError, Payload, Session,
    SessionWork, SqlValue, StateChange, StateExtensions, StateStore, StateUpdate, StorageErrorKind,
    WriterId,
};
use async_trait::async_trait;

use crate::place::{Place, id};

actix_persistence_sql_tests::test_extensions!(server Place::new().await);

#[tokio::test]
async fn the_printed_statements_make_and_grant_the_tables_of_entity_types_too() {
    let place = Place::new().await;
    let roles = place.database.roles();
    let section = place.section().with("url", place.application_url());
    extensions::the_printed_statements_make_the_tables_of_entity_types_too(
        &place,
        Some(&roles),
        section,
        async || (),
    )
    .await;
}

/// A column with one value.
struct Always(&'static str, SqlValue);

impl AdditionalColumn for Always {
    fn column_name(&self) -> &str {
        self.0
    }

    fn bind(&self, _change: &StateChange<'_>) -> Result<ColumnValue, ExtensionError> {
        Ok(ColumnValue::Set(self.1.clone()))
    }
}

fn with_columns(columns: Vec<Always>) -> StateExtensions {
    let mut extensions = StateExtensions::default();
    let of_type = &mut extensions.entity_type("Test").columns;
    of_type.extend(
        columns
            .into_iter()
            .map(|column| Arc::new(column) as Arc<dyn AdditionalColumn>),
    );
    extensions
}

fn state(revision: u64) -> StateUpdate {
    StateUpdate::new(id("a"), revision, Payload::new(1, "m", "1"))
}

#[tokio::test]
async fn values_become_what_their_columns_are() {
    let place = Place::new().await;
    place.state_store_with(place.options()).await;
    place
        .run(
            "ALTER TABLE durable_state ADD COLUMN number UUID, ADD COLUMN body JSONB,
                 ADD COLUMN stars INTEGER, ADD COLUMN title VARCHAR(10), ADD COLUMN at TIMESTAMPTZ,
                 ADD COLUMN price NUMERIC(10, 2), ADD COLUMN is_open BOOLEAN, ADD COLUMN words TEXT[]",
        )
        .await;
    let columns = vec![
        Always("number", "6f1d2ab4-66a2-4a3c-9a0c-8ad6d0f0a0b1".into()),
        Always("body", r#"{"b": [1, null], "a": "x"}"#.into()),
        Always("stars", 5_i64.into()),
        Always("title", "ten bytes!".into()),
        Always("at", "2026-01-02 03:04:05.678+01".into()),
        Always("price", 12.5.into()),
        Always("is_open", true.into()),
        Always("words", "{a,b}".into()),
    ];
    let store = place.open_with_handlers(&with_columns(columns)).await;
    for revision in 1..=2 {
        store.upsert(state(revision)).await.unwrap();
        let found = "SELECT COUNT(*) FROM durable_state
            WHERE number = '6f1d2ab4-66a2-4a3c-9a0c-8ad6d0f0a0b1' AND body ->> 'a' = 'x' AND stars = 5
                AND title = 'ten bytes!' AND at = '2026-01-02T02:04:05.678Z' AND price = 12.50
                AND is_open AND words = ARRAY['a', 'b']";
        assert_eq!(place.number(found).await, 1);
        place
            .run("UPDATE durable_state SET title = NULL, at = NULL, words = NULL")
            .await;
    }
}

#[tokio::test]
async fn a_value_that_its_column_does_not_take_is_refused_whole() {
    let place = Place::new().await;
    place.state_store_with(place.options()).await;
    place
        .run(
            "ALTER TABLE durable_state ADD COLUMN number UUID, ADD COLUMN stars INTEGER,
                 ADD COLUMN title VARCHAR(10), ADD COLUMN body JSONB",
        )
        .await;
    for (column, value) in [
        ("title", "eleven bytes".into()),
        ("stars", (1_i64 << 40).into()),
        ("stars", "five".into()),
        ("number", "no uuid".into()),
        ("body", "{".into()),
        ("title", "a\0b".into()),
    ] {
        let store = place
            .open_with_handlers(&with_columns(vec![Always(column, value)]))
            .await;
        let error = store.upsert(state(1)).await.unwrap_err();
        assert!(error.is_not_stored(), "{column}: {error:?}");
        assert_ne!(error.kind(), StorageErrorKind::RevisionConflict);
        assert_eq!(store.get(&id("a")).await.unwrap().revision, 0);
    }
}

#[tokio::test]
async fn whatever_code_of_the_application_runs_the_answer_is_true() {
    let place = Place::new().await;
    let more: &[&[&str]] = &[
        &["ROLLBACK AND CHAIN"],
        &["COMMIT AND CHAIN"],
        &["PREPARE TRANSACTION 'a'"],
        &["DO $$ BEGIN COMMIT; END $$"],
        &["SET LOCAL synchronous_commit = off"],
        &["/* /* */ */ COMMIT"],
        &["/* /* */ */ COMMIT AND CHAIN"],
    ];
    let section = place.section_of_handlers();
    extensions::whatever_code_of_the_application_runs_the_answer_is_true(&place, section, more)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_handlers_delay_no_other_writers() {
    let (place, plugin) = (Place::new().await, PostgresPlugin::new());
    let _journal = extensions::slow_handlers_delay_no_other_writers(&place, &plugin).await;
    assert_eq!(plugin.databases(), 1);
}

#[tokio::test]
async fn what_rules_refuse_is_told_as_that() {
    let place = Place::new().await;
    let refused = vec![
        ("VARCHAR(4)", "too long".into()),
        ("BIGINT", "no number".into()),
        ("BIGINT", 0.5.into()),
        ("BIGINT", true.into()),
        ("SMALLINT", 100_000_i64.into()),
        ("DATE", "no such day".into()),
        ("TIMESTAMPTZ", "2026-13-45".into()),
        ("UUID", "no-uuid-at-all".into()),
        ("TEXT", vec![0xff, 0xfe].into()),
        ("INTEGER CHECK (odd < 5)", 5_i64.into()),
    ];
    let refused = refused
        .into_iter()
        .map(|(column, value)| extensions::Refused { column, value });
    let trigger: &[&str] = &[
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN IF NEW.revision = 3 THEN RAISE EXCEPTION 'not that'; END IF; RETURN NEW; END $$",
        "CREATE TRIGGER refuses BEFORE UPDATE ON durable_state FOR EACH ROW EXECUTE FUNCTION refuse()",
    ];
    extensions::what_rules_refuse_is_told_as_that(&place, refused.collect(), trigger).await;
}

#[tokio::test]
async fn nothing_that_is_set_stays_nor_makes_a_commit_less_durable() {
    let place = Place::new().await;
    let section = place.section().with("writers", 1);
    // What a commit waits for, as it is when the commit is made.
    place
        .run(
            "CREATE TABLE probe (a INTEGER); CREATE TABLE seen (at_commit TEXT);
             CREATE FUNCTION probed() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO public.seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
             CREATE CONSTRAINT TRIGGER probed AFTER INSERT ON probe DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION probed();
             CREATE FUNCTION lower_durability() RETURNS INTEGER LANGUAGE plpgsql AS $$
             BEGIN PERFORM set_config('synchronous_commit', 'off', false); RETURN 1; END $$",
        )
        .await;
    let settings = [
        "INSERT INTO public.probe SELECT public.lower_durability()",
        "INSERT INTO public.probe SELECT length(set_config('synchronous_commit', 'off', true))",
        "SELECT set_config('search_path', 'pg_catalog', false), set_config('statement_timeout', '0', false),
                set_config('TimeZone', 'Asia/Tokyo', false), pg_advisory_lock(7)",
        "CREATE TEMPORARY TABLE probe (a INTEGER)",
    ];
    let refused = [
        "SET synchronous_commit = off",
        "SET LOCAL synchronous_commit = off",
        "RESET ALL",
        "LISTEN news",
    ];
    let look = "SELECT current_setting('synchronous_commit') AS a, current_setting('search_path') AS b,
                current_setting('statement_timeout') AS c, current_setting('TimeZone') AS d,
                (SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())::text AS e,
                'probe'::regclass::text AS f";
    extensions::nothing_that_is_set_stays(&place, section, &settings, &refused, look).await;
    let durable = "SELECT COUNT(*) FROM seen WHERE at_commit = 'on'";
    assert_eq!(place.number(durable).await, 2);
}

/// The driver does not know what to do with the answer, which looks like that of a broken server.
#[tokio::test]
async fn data_beside_an_answer_is_no_trouble_of_the_store() {
    let place = Place::new().await;
    let states = place.open().await;
    place.run("CREATE TABLE things (a INTEGER)").await;
    for sql in [
        "COPY public.things TO STDOUT",
        "COPY public.things FROM STDIN",
        "/* all of it */ copy (SELECT 1) to stdout",
    ] {
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session.execute(sql, []).await?;
                Ok(())
            })
        });
        let error = states.sql().unwrap().transact(work).await.unwrap_err();
        assert_eq!(
            error.kind(),
            StorageErrorKind::Extension,
            "{sql}: {error:?}"
        );
        assert!(error.is_not_stored(), "{sql}: {error:?}");
    }
}

const PLANNER: &str = "\
    SELECT name || ' = ' || setting AS setting FROM pg_settings
    WHERE name IN ('enable_seqscan', 'enable_sort', 'jit', 'plan_cache_mode') ORDER BY name";

/// Tells how its statements are planned.
struct Planned(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl ChangeHandler for Planned {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        for row in session.select(PLANNER, []).await? {
            self.0.lock().unwrap().push(row.get("setting")?);
        }
        Ok(())
    }
}

/// The store forbids plans that are wrong for its own statements, and for hardly any other.
#[tokio::test]
async fn statements_of_the_application_are_planned_as_the_server_has_it() {
    const OF_STORE: [&str; 4] = [
        "enable_seqscan = off",
        "enable_sort = off",
        "jit = off",
        "plan_cache_mode = force_generic_plan",
    ];
    const OF_SERVER: [&str; 4] = [
        "enable_seqscan = on",
        "enable_sort = off",
        "jit = on",
        "plan_cache_mode = auto",
    ];
    let place = Place::new().await;
    let name = place.database.name();
    place
        .run(format!(
            "ALTER DATABASE {name} SET jit = on; ALTER DATABASE {name} SET enable_sort = off"
        ))
        .await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut extensions = StateExtensions::default();
    let handler = Arc::new(Planned(Arc::clone(&seen)));
    extensions.entity_type("Test").change_handler = Some(handler);
    let states = PostgresStateStore::with_extensions(place.options(), &extensions).unwrap();
    let states = states.with_change_event_journal(place.options()).unwrap();
    states.initialize().await.unwrap();
    place
        .run(format!(
            "CREATE TABLE seen (setting TEXT);
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO public.seen {PLANNER}; RETURN NULL; END $$;
             CREATE TRIGGER see AFTER INSERT ON event_journal FOR EACH ROW EXECUTE FUNCTION see()"
        ))
        .await;
    let event = ChangeEvent::new(Payload::new(1, "m", "1"), WriterId::random());
    let update = StateUpdate::new(id("a"), 1, Payload::new(1, "m", "1"));
    states
        .upsert(update.with_change_event(event))
        .await
        .unwrap();
    assert_eq!(seen.lock().unwrap().split_off(0), OF_SERVER);
    // What the store itself runs after a handler.
    let journalled: Vec<String> = sqlx::query_scalar("SELECT setting FROM seen ORDER BY setting")
        .fetch_all(&mut place.connection().await)
        .await
        .unwrap();
    assert_eq!(journalled, OF_STORE);
    let found = Arc::clone(&seen);
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            session
                .execute("CREATE TABLE public.more (a INTEGER)", [])
                .await?;
            for row in session.select(PLANNER, []).await? {
                found.lock().unwrap().push(row.get("setting")?);
            }
            Ok(())
        })
    });
    states.sql().unwrap().transact(work).await.unwrap();
    assert_eq!(seen.lock().unwrap().split_off(0), OF_SERVER);
}

#[tokio::test]
async fn nothing_that_a_condition_sets_stays() {
    let place = Place::new().await;
    let sets =
        "length(set_config('TimeZone', 'Asia/Tokyo', false)) > 0 AND pg_try_advisory_lock(7)";
    let is_set = "current_setting('TimeZone') = 'Asia/Tokyo' OR EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())";
    extensions::nothing_that_a_condition_sets_stays(&place, sets, is_set).await;
}

#[tokio::test]
async fn nothing_is_committed_after_a_statement_that_was_given_up() {
    let place = Place::new().await;
    let slow = "SELECT pg_sleep(0.5)::text AS a";
    extensions::nothing_is_committed_after_a_statement_that_was_given_up(&place, slow).await;
}

#[tokio::test]
async fn code_of_the_application_is_told_what_its_rules_refuse() {
    let place = Place::new().await;
    let key = "things_pkey";
    extensions::code_of_the_application_is_told_what_its_rules_refuse(&place, key).await;
}
