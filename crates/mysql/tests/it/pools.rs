//! Stores that open their connections as a pool of the application does.

use actix_persistence_mysql::{MysqlJournal, MysqlOptions, MysqlPlugin, Pools};
use actix_persistence_sql_tests::pools;
use actix_persistence_storage_api::{Journal, PersistenceId, Plugin};
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};

use crate::place::{Place, numbers, store};

fn options_of(place: &Place) -> MySqlConnectOptions {
    place.database.url().parse().unwrap()
}

#[tokio::test]
async fn the_application_may_bring_a_pool() {
    let place = Place::new().await;
    let pool = MySqlPoolOptions::new().connect_lazy_with(options_of(&place));
    let plugin = MysqlPlugin::with_resources(Pools::new().with("main", pool));
    pools::the_application_may_bring_a_pool(&place, &plugin).await;
}

/// Its tables are in the database of the connection.
#[tokio::test]
async fn a_pool_without_a_database_is_a_mistake() {
    let nowhere = MySqlConnectOptions::new().host("db.example.org");
    let pool = MySqlPoolOptions::new().connect_lazy_with(nowhere);
    let plugin = MysqlPlugin::with_resources(Pools::new().with("main", pool));
    let errors = plugin
        .journal(&pools::section_of_pool("main"))
        .err()
        .unwrap();
    let text = errors.to_string();
    let expected = "'persistence.journal.a.pool' must be one whose options name a database";
    assert!(text.contains(expected), "{text}");
}

/// Texts, times and rules of the pool's own connections are the application's affair, those of the store's connections the
/// store's.
#[tokio::test]
async fn a_store_keeps_to_its_own_rules_whatever_the_pool_says() {
    let place = Place::new().await;
    let odd = options_of(&place)
        .charset("latin1")
        .collation("latin1_german2_ci")
        .timezone(Some("+05:00".to_owned()))
        .pipes_as_concat(true)
        .statement_cache_capacity(0);
    let pool = MySqlPoolOptions::new().connect_lazy_with(odd);
    let options =
        MysqlOptions::with_pool("main", pool).with_store(|store| store.with_auto_initialize(true));
    let journal = MysqlJournal::new(options).unwrap();
    journal.initialize().await.unwrap();
    let id = PersistenceId::of("Konto", "größer \u{1f980}");
    store(&journal, &id, 3).await;
    assert_eq!(numbers(&place.journal().await, &id).await, [1, 2, 3]);
}
