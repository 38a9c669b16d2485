//! The connection of sqlx in the hands of the application.

use std::sync::Arc;

use actix_persistence_sql_tests::Tables;
use actix_persistence_sql_tests::driver_of_sqlx;
use actix_persistence_sql_tests::states::extensions::driver::{self, Act};
use actix_persistence_sqlite::SqliteSession;

use crate::extensions::SETTINGS;
use crate::place::Place;

driver_of_sqlx!(OfSqlite: sqlite);

actix_persistence_sql_tests::test_driver!(Place::new(), OfSqlite);

const MORE: &[Act] = &[
    Act::Run("END TRANSACTION"),
    Act::Try("INSERT OR ROLLBACK INTO driven VALUES (NULL)"),
    Act::Run("COMMIT; BEGIN IMMEDIATE"),
    Act::Run("ROLLBACK; BEGIN"),
    Act::Run("PRAGMA query_only = ON"),
    Act::Try("PRAGMA synchronous = OFF"),
    Act::Try("PRAGMA wal_autocheckpoint = 1"),
    Act::GiveUpPrepared("INSERT INTO driven (a) VALUES (?)", 1),
    Act::GiveUpPrepared("INSERT INTO driven (a) VALUES (?)", 3),
    Act::ReadOne("INSERT INTO driven (a) VALUES (1), (2) RETURNING a"),
    Act::Try("ATTACH ':memory:' AS other"),
];

actix_persistence_sql_tests::test_answers_with_driver! {
    Place::new(), Place::section_of_handlers, OfSqlite, MORE
}

#[tokio::test]
async fn nothing_that_is_set_with_the_driver_stays() {
    let place = Place::new();
    let settings = [
        "PRAGMA cache_size = 1",
        "PRAGMA busy_timeout = 1",
        "PRAGMA recursive_triggers = ON",
        "PRAGMA cell_size_check = OFF",
        "PRAGMA defer_foreign_keys = ON",
        "CREATE TEMP TABLE durable_state (a)",
    ];
    let refused = ["PRAGMA wal_autocheckpoint = 1", "PRAGMA fullfsync = OFF"];
    let (section, driver) = (place.section_of_handlers(), Arc::new(OfSqlite));
    driver::nothing_that_is_set_with_the_driver_stays(
        &place, section, driver, &settings, &refused, SETTINGS,
    )
    .await;
}
