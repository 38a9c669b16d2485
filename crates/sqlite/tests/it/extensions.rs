//! Extensions of durable states by applications, beyond the conformance kit.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_sql_tests::Tables;
use actix_persistence_sql_tests::states::extensions;
use actix_persistence_sqlite::SqlitePlugin;
use actix_persistence_storage_api::{
    Origin, Payload, Plugin, Section, SessionWork, StateExtensions, StateUpdate, StorageErrorKind,
};
use tokio::sync::Semaphore;

use crate::place::{Place, id};

actix_persistence_sql_tests::test_extensions!(Place::new());

#[tokio::test]
async fn the_printed_statements_make_the_tables_of_entity_types_too() {
    let place = Place::new();
    let section = place.section();
    extensions::the_printed_statements_make_the_tables_of_entity_types_too(
        &place,
        None,
        section,
        async || (),
    )
    .await;
}

#[tokio::test]
async fn whatever_code_of_the_application_runs_the_answer_is_true() {
    let place = Place::new();
    let more: &[&[&str]] = &[
        &["END TRANSACTION"],
        &["INSERT OR ROLLBACK INTO left_behind VALUES (NULL)"],
        &["SELECT 1; COMMIT; BEGIN IMMEDIATE"],
        &[
            "CREATE TRIGGER ends BEFORE INSERT ON left_behind BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
            "INSERT INTO left_behind VALUES (1)",
        ],
        &["PRAGMA synchronous = OFF"],
    ];
    let section = place.section_of_handlers();
    extensions::whatever_code_of_the_application_runs_the_answer_is_true(&place, section, more)
        .await;
}

/// Everything that a connection has been told, as far as SQLite tells it, beside what lives with it alone.
pub(crate) const SETTINGS: &str = "\
    SELECT CAST(a.synchronous AS TEXT) AS a, b.journal_mode AS b, CAST(c.cell_size_check AS TEXT) AS c,
           CAST(d.recursive_triggers AS TEXT) AS d, CAST(e.query_only AS TEXT) AS e, CAST(f.timeout AS TEXT) AS f,
           g.locking_mode AS g, CAST(h.writable_schema AS TEXT) AS h, CAST(i.foreign_keys AS TEXT) AS i,
           CAST(j.trusted_schema AS TEXT) AS j, CAST(k.cache_size AS TEXT) AS k, CAST(l.hard_heap_limit AS TEXT) AS l,
           CAST(m.defer_foreign_keys AS TEXT) AS m,
           CAST((SELECT COUNT(*) FROM temp.sqlite_schema) AS TEXT) AS y,
           (SELECT group_concat(name) FROM pragma_database_list) AS z
    FROM pragma_synchronous a, pragma_journal_mode b, pragma_cell_size_check c, pragma_recursive_triggers d,
         pragma_query_only e, pragma_busy_timeout f, pragma_locking_mode g, pragma_writable_schema h,
         pragma_foreign_keys i, pragma_trusted_schema j, pragma_cache_size k, pragma_hard_heap_limit l,
         pragma_defer_foreign_keys m";

#[tokio::test]
async fn nothing_that_is_set_stays_nor_makes_a_commit_less_durable() {
    let place = Place::new();
    let run = [
        "SELECT 1; SELECT 2",
        "SELECT * FROM pragma_optimize(-1)",
        "SELECT * FROM pragma_integrity_check",
        "CREATE TEMP TABLE durable_state (a)",
        "CREATE TEMP VIEW durable_state_ordering AS SELECT 1 AS newest",
        "CREATE TEMP TRIGGER t BEFORE INSERT ON durable_state BEGIN SELECT RAISE(IGNORE); END",
    ];
    let refused = [
        "PRAGMA synchronous = OFF",
        "PRAGMA main.synchronous(0)",
        " \t\n/* a */ -- b\n pragma cell_size_check = OFF",
        ";PRAGMA cell_size_check = OFF",
        "\u{feff}PRAGMA cell_size_check = OFF",
        "/* /* */ PRAGMA recursive_triggers = ON",
        "--\u{c}\nPRAGMA recursive_triggers = ON",
        "SELECT 1; PRAGMA query_only = ON",
        "SELECT '; --'; PRAGMA busy_timeout = 1",
        "SELECT 1 AS [']; PRAGMA cache_size = 1; --']",
        "; PRAGMA locking_mode = EXCLUSIVE",
        "; PRAGMA writable_schema = ON",
        "; PRAGMA hard_heap_limit = 100000000",
        "CREATE TEMP TRIGGER t AFTER INSERT ON durable_state BEGIN SELECT 1; END; PRAGMA query_only = ON",
        "CREATE TABLE trigger (a); PRAGMA query_only = ON",
        "SELECT $1('); COMMIT; PRAGMA cell_size_check = OFF; BEGIN IMMEDIATE; SELECT $1(') AS a",
        // Functions take no values to set.
        "SELECT * FROM pragma_cell_size_check(0)",
        "SELECT * FROM pragma_cell_size_check WHERE arg = 0",
        "EXPLAIN PRAGMA cell_size_check = OFF",
        "explain/**/query plan/**/pragma cell_size_check = OFF",
        "SELECT 1; EXPLAIN PRAGMA cell_size_check = OFF",
        "; COMMIT; PRAGMA synchronous = OFF; BEGIN IMMEDIATE",
        "ATTACH ':memory:' AS other",
        "SELECT 1; ATTACH ':memory:' AS other",
        "DETACH main",
        "VACUUM",
        "; VACUUM INTO 'other.db'",
    ];
    let section = place.section_of_handlers();
    extensions::nothing_that_is_set_stays(&place, section, &run, &refused, SETTINGS).await;
}

#[test]
fn a_handler_that_may_take_longer_than_others_wait_is_a_mistake() {
    let section = Section::new("persistence.state.a", Origin::file("app.toml", 3))
        .with("url", "some.db")
        .with("handler-timeout", "6s");
    let open = |section: &Section| {
        SqlitePlugin::new()
            .state_store(section, &StateExtensions::default())
            .map(drop)
    };
    let errors = open(&section).unwrap_err().to_string();
    assert!(
        errors.contains("'persistence.state.a.handler-timeout' is 6s"),
        "{errors}"
    );
    assert!(errors.contains("'busy-timeout'"), "{errors}");
    assert!(open(&section.with("busy-timeout", "4s")).is_ok());
}

#[tokio::test]
async fn what_rules_refuse_is_told_as_that() {
    let place = Place::new();
    let refused = vec![
        ("TEXT CHECK (length(odd) < 5)", "too long".into()),
        (
            "INTEGER CHECK (typeof(odd) IN ('integer', 'null'))",
            "no number".into(),
        ),
        ("INTEGER CHECK (odd < 5)", 5_i64.into()),
    ];
    let refused = refused
        .into_iter()
        .map(|(column, value)| extensions::Refused { column, value });
    let trigger: &[&str] = &[
        "CREATE TRIGGER refuses BEFORE UPDATE ON durable_state WHEN NEW.revision = 3
          BEGIN SELECT RAISE(ABORT, 'not that'); END",
    ];
    extensions::what_rules_refuse_is_told_as_that(&place, refused.collect(), trigger).await;
}

#[tokio::test]
async fn nothing_is_committed_after_a_statement_that_was_given_up() {
    let place = Place::new();
    let slow = "WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n WHERE a < 2000000) SELECT COUNT(*) AS a FROM n";
    extensions::nothing_is_committed_after_a_statement_that_was_given_up(&place, slow).await;
}

#[tokio::test]
async fn code_of_the_application_is_told_what_its_rules_refuse() {
    let place = Place::new();
    let key = "things.name";
    extensions::code_of_the_application_is_told_what_its_rules_refuse(&place, key).await;
}

/// Lets all that can go on without the database do so; for a runtime of one thread.
async fn settle() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

/// Makes a row of a new state take seconds to insert.
async fn slow_down(place: &Place) {
    let many = "CREATE TABLE many (a INTEGER NOT NULL)";
    place.run(many).await;
    let fill = "INSERT INTO many WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n WHERE a < 700) SELECT a FROM n";
    place.run(fill).await;
    let slow = "CREATE TRIGGER slow AFTER INSERT ON durable_state BEGIN SELECT COUNT(*) FROM many a, many b, many c; END";
    place.run(slow).await;
}

#[tokio::test]
async fn a_database_that_hangs_is_not_blamed_on_the_handlers_in_line() {
    let place = Place::new();
    let extensions = extensions::with_idle_handler();
    let states = SqlitePlugin::new().state_store(&place.section(), &extensions);
    let states = states.unwrap();
    states.initialize().await.unwrap();
    slow_down(&place).await;
    let upsert = |name: &str| {
        let update = StateUpdate::new(id(name), 1, Payload::new(1, "m", "1"));
        let states = Arc::clone(&states);
        tokio::spawn(async move { states.upsert(update).await })
    };
    let hanging = upsert("hangs");
    settle().await;
    // The time of whoever is in line is over at once.
    tokio::time::pause();
    let error = upsert("waits").await.unwrap().unwrap_err();
    tokio::time::resume();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
    assert!(error.is_not_stored(), "{error:?}");
    hanging.await.unwrap().unwrap();
}

/// A transaction of the application gets its turn when little of its time is left, and a write that was in line before it
/// has the one connection for longer than that.
#[tokio::test]
async fn time_in_a_queue_of_the_application_is_no_trouble_of_the_store() {
    second_in_line_is_told_that_all_are_busy(None).await;
}

/// The database has ended the transaction of the first one by itself, so that there is nothing to roll back.
#[tokio::test]
async fn time_of_an_application_that_fails_is_no_trouble_of_the_store() {
    let fails = "INSERT OR ROLLBACK INTO many VALUES (NULL)";
    second_in_line_is_told_that_all_are_busy(Some(fails)).await;
}

async fn second_in_line_is_told_that_all_are_busy(first_ends_with: Option<&'static str>) {
    let place = Place::new();
    // A call waits for five seconds, the least there is.
    let section = place.section().with("busy-timeout", "1s");
    let section = section.with("handler-timeout", "4900ms");
    let plugin = SqlitePlugin::new();
    let states = plugin.state_store(&section, &StateExtensions::default());
    let states = states.unwrap();
    states.initialize().await.unwrap();
    slow_down(&place).await;
    let begun = Arc::new(Semaphore::new(0));
    let transact = |held: Duration, last: Option<&'static str>| {
        let (states, begun) = (Arc::clone(&states), Arc::clone(&begun));
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                begun.add_permits(1);
                tokio::time::sleep(held).await;
                if let Some(last) = last {
                    session.execute(last, []).await?;
                }
                Ok(())
            })
        });
        tokio::spawn(async move { states.sql().unwrap().transact(work).await })
    };
    let first = transact(Duration::from_secs(4), first_ends_with);
    begun.acquire().await.unwrap().forget();
    let update = StateUpdate::new(id("slow"), 1, Payload::new(1, "m", "1"));
    let plain = tokio::spawn({
        let states = Arc::clone(&states);
        async move { states.upsert(update).await }
    });
    settle().await;
    let second = transact(Duration::ZERO, None);
    let first = first.await.unwrap();
    assert_eq!(first.is_err(), first_ends_with.is_some(), "{first:?}");
    let error = second.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Busy, "{error:?}");
    plain.await.unwrap().unwrap();
}
