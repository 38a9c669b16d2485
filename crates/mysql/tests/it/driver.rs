//! The connection of sqlx in the hands of the application.

use std::sync::Arc;

use actix_persistence_mysql::MysqlSession;
use actix_persistence_sql_tests::Tables;
use actix_persistence_sql_tests::driver_of_sqlx;
use actix_persistence_sql_tests::states::extensions::driver::{self, Act};

use crate::place::Place;

driver_of_sqlx!(OfMysql: mysql);

actix_persistence_sql_tests::test_driver!(server Place::new().await, OfMysql);

const MORE: &[Act] = &[
    Act::Run("SET autocommit = 0"),
    Act::Run("SET autocommit = 1"),
    Act::Run("SET SESSION completion_type = 1"),
    Act::Run("START TRANSACTION"),
    Act::Run("COMMIT; START TRANSACTION"),
    Act::Run("CREATE TABLE IF NOT EXISTS made_too (a INT)"),
    Act::Run("LOCK TABLES driven WRITE"),
    Act::Run("CREATE TEMPORARY TABLE IF NOT EXISTS for_now (a INT)"),
    Act::Try("XA END 'a'"),
    Act::GiveUp("DO SLEEP(0.01)", 2),
    Act::GiveUpPrepared("INSERT INTO driven (a) VALUES (?)", 1),
    Act::GiveUpPrepared("INSERT INTO driven (a) VALUES (?)", 2),
    Act::GiveUpPrepared("INSERT INTO driven (a) VALUES (?)", 9),
    Act::ReadOne("SELECT a FROM driven UNION ALL SELECT 1 UNION ALL SELECT 2; SELECT 3"),
];

actix_persistence_sql_tests::test_answers_with_driver! {
    Place::new().await, |place: &Place| place.section().with("handler-timeout", "500ms"), OfMysql, MORE
}

#[tokio::test]
async fn nothing_that_is_set_with_the_driver_stays() {
    let place = Place::new().await;
    let settings = [
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET SESSION lock_wait_timeout = 77, SESSION time_zone = '+03:00'",
        "SET autocommit = 0",
        "DO GET_LOCK('actix_test_of_the_driver', 0)",
        "CREATE TEMPORARY TABLE durable_state (a INT)",
        "SET @mine = 'set'",
        "PREPARE mine FROM 'SELECT 1'",
    ];
    let refused = [
        "SET SESSION sql_mode = ''",
        "SET SESSION foreign_key_checks = 0",
        "SET SESSION sql_select_limit = 7",
        "SET NAMES latin1",
        "USE information_schema",
    ];
    let look = "SELECT CAST(@@SESSION.lock_wait_timeout AS CHAR) AS a, @@SESSION.time_zone AS b,
                CAST(@@SESSION.autocommit AS CHAR) AS c,
                CAST(IS_FREE_LOCK('actix_test_of_the_driver') AS CHAR) AS d, DATABASE() AS e,
                @@SESSION.sql_mode AS f, CAST((SELECT COUNT(*) FROM durable_state) AS CHAR) AS g,
                COALESCE(@mine, 'none') AS h, @@SESSION.character_set_client AS i";
    let section = place.section().with("writers", 1);
    let driver = Arc::new(OfMysql);
    driver::nothing_that_is_set_with_the_driver_stays(
        &place, section, driver, &settings, &refused, look,
    )
    .await;
}
