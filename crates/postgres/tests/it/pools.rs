//! Stores that open their connections as a pool of the application does.

use actix_persistence_postgres::{Pools, PostgresJournal, PostgresOptions, PostgresPlugin};
use actix_persistence_sql_tests::pools;
use actix_persistence_storage_api::Journal;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::place::Place;

#[tokio::test]
async fn the_application_may_bring_a_pool() {
    let place = Place::new().await;
    let pool = PgPoolOptions::new();
    let pool = pool.connect_lazy(&place.database.url()).unwrap();
    let plugin = PostgresPlugin::with_resources(Pools::new().with("main", pool));
    pools::the_application_may_bring_a_pool(&place, &plugin).await;
}

/// As with a password that was changed.
#[tokio::test]
async fn options_that_a_pool_gets_later_count_for_stores_too() {
    let place = Place::new().await;
    let right: PgConnectOptions = place.database.url().parse().unwrap();
    let wrong = right.clone().database("there_is_none");
    let pool = PgPoolOptions::new().connect_lazy_with(wrong);
    let options = PostgresOptions::with_pool("main", pool.clone())
        .with_store(|store| store.with_auto_initialize(true));
    let journal = PostgresJournal::new(options).unwrap();
    journal.initialize().await.unwrap_err();
    pool.set_connect_options(right);
    journal.initialize().await.unwrap();
}
