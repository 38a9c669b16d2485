//! Extensions of durable states by applications, beyond the conformance kit.

use actix_persistence_mysql::MysqlPlugin;
use actix_persistence_sql_tests::states::extensions;
use actix_persistence_sql_tests::{OnServer, Tables};

use crate::place::Place;

actix_persistence_sql_tests::test_extensions!(server Place::new().await);

#[tokio::test]
async fn the_printed_statements_make_the_tables_of_entity_types_too() {
    let place = Place::new().await;
    let section = place.section().with("url", place.application_url());
    let granted = async || place.database.grant_all().await;
    extensions::the_printed_statements_make_the_tables_of_entity_types_too(
        &place, None, section, granted,
    )
    .await;
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
    let section = place.section().with("handler-timeout", "500ms");
    extensions::whatever_code_of_the_application_runs_the_answer_is_true(&place, section, more)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_handlers_delay_no_other_writers() {
    let (place, plugin) = (Place::new().await, MysqlPlugin::new());
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
    extensions::what_rules_refuse_is_told_as_that(&place, refused.collect(), trigger).await;
}

#[tokio::test]
async fn nothing_that_is_set_stays() {
    let place = Place::new().await;
    let section = place.section().with("writers", 1);
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
    extensions::nothing_that_is_set_stays(&place, section, &settings, &refused, variables).await;
}

#[tokio::test]
async fn nothing_that_a_condition_sets_stays() {
    let place = Place::new().await;
    let sets = "GET_LOCK(DATABASE(), 0) = 1";
    let is_set = "IS_FREE_LOCK(DATABASE()) = 0";
    extensions::nothing_that_a_condition_sets_stays(&place, sets, is_set).await;
}

#[tokio::test]
async fn nothing_is_committed_after_a_statement_that_was_given_up() {
    let place = Place::new().await;
    let slow = "SELECT SLEEP(0.5) AS a";
    extensions::nothing_is_committed_after_a_statement_that_was_given_up(&place, slow).await;
}

#[tokio::test]
async fn code_of_the_application_is_told_what_its_rules_refuse() {
    let place = Place::new().await;
    let key = "PRIMARY";
    extensions::code_of_the_application_is_told_what_its_rules_refuse(&place, key).await;
}
