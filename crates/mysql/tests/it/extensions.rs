//! Extensions of durable states by applications, beyond the conformance kit.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_mysql::{MysqlOptions, MysqlPlugin, MysqlStateStore};
use actix_persistence_sql_tests::states::extensions;
use actix_persistence_storage_api::{
    Origin, Payload, Plugin, Section, StateExtensions, StateStore, StateUpdate,
};

use crate::place::{Place, id};

/// Opens stores with these extensions; handlers have more time than they need on a busy machine.
async fn open(place: &Place, extensions: StateExtensions) -> Arc<dyn StateStore> {
    let options = place
        .options()
        .with_store(|store| store.with_handler_timeout(Duration::from_secs(60)))
        .with_server(|mut server| {
            server.acquire_timeout = Duration::from_secs(61);
            server
        });
    open_with(options, extensions).await
}

async fn open_with(options: MysqlOptions, extensions: StateExtensions) -> Arc<dyn StateStore> {
    let store = MysqlStateStore::with_extensions(options, &extensions).unwrap();
    store.initialize().await.unwrap();
    Arc::new(store)
}

#[tokio::test]
async fn a_column_that_needs_a_value_gets_it() {
    let place = Place::new().await;
    let open = async |extensions| open(&place, extensions).await;
    extensions::a_column_that_needs_a_value_gets_it(&place, open).await;
}

#[tokio::test]
async fn a_column_whose_values_are_unique_is_kept_so() {
    let place = Place::new().await;
    let open = async |extensions| open(&place, extensions).await;
    extensions::a_column_whose_values_are_unique_is_kept_so(&place, open).await;
}

#[test]
fn mistakes_in_extensions_name_what_is_wrong() {
    let section = Section::new("persistence.state.a", Origin::file("app.toml", 3));
    let section = section.with("url", "mysql://me@db.example.org/bank");
    extensions::mistakes_in_extensions_name_what_is_wrong(&MysqlPlugin::new(), &section);
}

#[tokio::test]
async fn changes_whose_handlers_deadlock_are_each_counted_once() {
    let place = Place::new().await;
    let open = async |extensions| open(&place, extensions).await;
    let count = "UPDATE counts SET n = n + 1 WHERE name = $1";
    extensions::changes_whose_handlers_deadlock_are_each_counted_once(&place, count, open).await;
}

#[tokio::test]
async fn a_handler_may_take_longer_than_any_statement() {
    let place = Place::new().await;
    let open = async |extensions| {
        let options = place
            .options()
            .with_store(|store| store.with_handler_timeout(Duration::from_secs(60)))
            .with_server(|mut server| {
                server.statement_timeout = Duration::from_secs(3);
                server.lock_timeout = Duration::from_secs(2);
                server.acquire_timeout = Duration::from_secs(61);
                server
            });
        open_with(options, extensions).await
    };
    // A second after the limit of a statement the client gives up, too.
    extensions::a_handler_may_take_longer_than_any_statement(5, "DO SLEEP(1)", open).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_was_given_up_leaves_no_lock() {
    let place = Place::new().await;
    let open = async |extensions| {
        let options = place
            .options()
            .with_store(|store| store.with_handler_timeout(Duration::from_millis(50)))
            .with_server(|mut server| {
                server.statement_timeout = Duration::from_secs(60);
                server
            });
        open_with(options, extensions).await
    };
    extensions::a_statement_that_was_given_up_leaves_no_lock("SELECT SLEEP(60) AS a", open).await;
}

fn with_table() -> StateExtensions {
    let mut extensions = StateExtensions::default();
    extensions.entity_type("Test").table = Some("test_state".to_owned());
    extensions
}

#[tokio::test]
async fn the_printed_statements_make_the_tables_of_entity_types_too() {
    let place = Place::new().await;
    let unmade = MysqlStateStore::with_extensions(place.options(), &with_table()).unwrap();
    place.run(unmade.schema_sql(None).unwrap()).await;
    place.database.grant_all().await;
    let store = open_with(
        MysqlOptions::new(place.database.application_url()),
        with_table(),
    )
    .await;
    store
        .upsert(StateUpdate::new(id("a"), 1, Payload::new(1, "m", "1")))
        .await
        .unwrap();
    assert_eq!(place.number("SELECT COUNT(*) FROM test_state").await, 1);
    assert_eq!(place.number("SELECT COUNT(*) FROM durable_state").await, 0);
}

#[tokio::test]
async fn whatever_code_of_the_application_runs_the_answer_is_true() {
    let place = Place::new().await;
    for procedure in [
        "commit_it() COMMIT",
        "roll_it_back() ROLLBACK",
        "commit_it_and_sleep() BEGIN COMMIT; DO SLEEP(60); END",
    ] {
        place.run(format!("CREATE PROCEDURE {procedure}")).await;
    }
    let open = async |extensions| {
        let options = place.options();
        let options =
            options.with_store(|store| store.with_handler_timeout(Duration::from_millis(500)));
        open_with(options, extensions).await
    };
    let more: &[&[&str]] = &[
        &["SET autocommit = 0"],
        &["SET autocommit = 1"],
        &["/*!40000 COMMIT */"],
        &["/*!40000 ROLLBACK */"],
        &["CALL commit_it()"],
        &["CALL roll_it_back()"],
        &["CALL commit_it()", "START TRANSACTION"],
        // Given up after half a second, when it has committed.
        &["CALL commit_it_and_sleep()"],
        &["RENAME TABLE left_behind TO away, away TO left_behind"],
        &["LOCK TABLES left_behind WRITE"],
        &["CREATE TEMPORARY TABLE for_now (a INT)"],
        &["XA END 'a'"],
    ];
    extensions::whatever_code_of_the_application_runs_the_answer_is_true(
        &place,
        "left_behind",
        more,
        open,
    )
    .await;
}

#[tokio::test]
async fn savepoints_of_a_handler_stay_beside_other_statements() {
    let place = Place::new().await;
    let open = async |extensions| open(&place, extensions).await;
    extensions::savepoints_of_a_handler_stay_beside_other_statements(&place, "left_behind", open)
        .await;
}

#[tokio::test]
async fn nothing_is_committed_after_a_statement_that_was_given_up() {
    let place = Place::new().await;
    let open = async |extensions| open(&place, extensions).await;
    extensions::nothing_is_committed_after_a_statement_that_was_given_up(
        &place,
        "left_behind",
        "SELECT SLEEP(0.5) AS a",
        open,
    )
    .await;
}

/// The section of stores that share their connections, with little time for anything.
fn shared(place: &Place, acquire: &str, handler: &str) -> Section {
    Section::new("persistence.state.a", Origin::file("app.toml", 3))
        .with("url", place.database.url())
        .with("auto-initialize", true)
        .with("acquire-timeout", acquire)
        .with("handler-timeout", handler)
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_handlers_delay_no_other_writers() {
    let place = Place::new().await;
    let plugin = MysqlPlugin::new();
    let section = shared(&place, "20s", "19s");
    let journal = plugin.journal(&section).unwrap();
    journal.initialize().await.unwrap();
    let open = async |extensions| {
        let store = plugin.state_store(&section, &extensions).unwrap();
        store.initialize().await.unwrap();
        store
    };
    extensions::slow_handlers_delay_no_other_writers(&*journal, open).await;
    assert_eq!(plugin.databases(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_of_the_application_is_no_trouble_of_the_store() {
    let place = Place::new().await;
    let plugin = MysqlPlugin::new();
    let section = shared(&place, "800ms", "700ms");
    let journal = plugin.journal(&section).unwrap();
    journal.initialize().await.unwrap();
    let open = async |extensions| {
        let store = plugin.state_store(&section, &extensions).unwrap();
        store.initialize().await.unwrap();
        store
    };
    extensions::a_crowd_of_the_application_is_no_trouble_of_the_store(&*journal, open).await;
}

#[test]
fn a_handler_that_may_take_longer_than_others_wait_is_a_mistake() {
    let section = Section::new("persistence.state.a", Origin::file("app.toml", 3))
        .with("url", "mysql://me@db.example.org/bank");
    let open = |section: &Section| {
        MysqlPlugin::new()
            .state_store(section, &StateExtensions::default())
            .map(drop)
    };
    // Shorter by itself.
    assert!(open(&section.clone().with("acquire-timeout", "500ms")).is_ok());
    let errors = open(&section.with("handler-timeout", "2s"))
        .unwrap_err()
        .to_string();
    assert!(
        errors.contains("'persistence.state.a.handler-timeout' is 2s"),
        "{errors}"
    );
    assert!(errors.contains("'acquire-timeout'"), "{errors}");
}

#[tokio::test]
async fn what_rules_refuse_is_told_as_that() {
    let place = Place::new().await;
    let open = async |extensions| open(&place, extensions).await;
    let refused = vec![
        ("VARCHAR(4)", "too long".into()),
        ("BIGINT", "no number".into()),
        ("BIGINT", 0.5.into()),
        ("TINYINT", 1_000_i64.into()),
        ("DATE", "no such day".into()),
        ("ENUM('a', 'b')", "neither".into()),
        ("INTEGER CHECK (odd < 5)", 5_i64.into()),
    ];
    let refused = refused
        .into_iter()
        .map(|(column, value)| extensions::Refused { column, value });
    let trigger: &[&str] = &[
        "CREATE TRIGGER refuses BEFORE UPDATE ON durable_state FOR EACH ROW
          IF NEW.revision = 3 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not that'; END IF",
    ];
    extensions::what_rules_refuse_is_told_as_that(&place, refused.collect(), trigger, open).await;
}

#[tokio::test]
async fn code_of_the_application_is_told_what_its_rules_refuse() {
    let place = Place::new().await;
    let open = async |extensions| open(&place, extensions).await;
    extensions::code_of_the_application_is_told_what_its_rules_refuse(
        &place, "things", "PRIMARY", open,
    )
    .await;
}

#[tokio::test]
async fn nothing_that_is_set_stays() {
    let place = Place::new().await;
    let options = place.options().with_server(|mut server| {
        server.writers = 1;
        server
    });
    let states = open_with(options, StateExtensions::default()).await;
    let procedure = "CREATE PROCEDURE set_it() BEGIN
        SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET SESSION lock_wait_timeout = 77; END";
    place.run(procedure).await;
    let function = "CREATE FUNCTION set_within() RETURNS INT NOT DETERMINISTIC NO SQL BEGIN
        SET SESSION lock_wait_timeout = 77; SET SESSION innodb_lock_wait_timeout = 77; SET SESSION foreign_key_checks = 0;
        RETURN 1; END";
    place.run(function).await;
    let settings = [
        "CALL set_it()",
        "SELECT set_within()",
        "SELECT GET_LOCK('actix_test_of_settings', 0)",
        "CREATE TEMPORARY TABLE durable_state (a INT)",
    ];
    let refused = [
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET autocommit = 0",
        "USE mysql",
        "LOCK TABLES durable_state WRITE",
    ];
    let variables = if place.number("SELECT @@version LIKE '%MariaDB%'").await == 1 {
        "SELECT @@SESSION.tx_isolation AS a, CAST(@@SESSION.lock_wait_timeout AS CHAR) AS b,
         @@SESSION.sql_mode AS c, CAST(@@SESSION.foreign_key_checks AS CHAR) AS d,
         CAST(IS_FREE_LOCK('actix_test_of_settings') AS CHAR) AS e"
    } else {
        "SELECT @@SESSION.transaction_isolation AS a, CAST(@@SESSION.lock_wait_timeout AS CHAR) AS b,
         @@SESSION.sql_mode AS c, CAST(@@SESSION.foreign_key_checks AS CHAR) AS d,
         CAST(IS_FREE_LOCK('actix_test_of_settings') AS CHAR) AS e"
    };
    extensions::nothing_that_is_set_stays(&*states, &settings, &refused, variables).await;
}

#[tokio::test]
async fn nothing_that_a_condition_sets_stays() {
    let place = Place::new().await;
    let options = place.options().with_server(|mut server| {
        server.read_connections = 1;
        server
    });
    let states = open_with(options, StateExtensions::default()).await;
    let sets = "GET_LOCK(DATABASE(), 0) = 1";
    let is_set = "IS_FREE_LOCK(DATABASE()) = 0";
    extensions::nothing_that_a_condition_sets_stays(&*states, sets, is_set).await;
}
