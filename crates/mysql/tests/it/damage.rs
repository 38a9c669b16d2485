//! Rows that were damaged, or changed around the plugin.

use actix_persistence_mysql::{MysqlJournal, MysqlOptions, MysqlSnapshotStore, MysqlStateStore};
use actix_persistence_sql_tests::OneOfEach;
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_test_servers::{Database, Server};

use crate::database::{connect, execute};
use crate::place::Place;

#[tokio::test]
async fn rows_that_were_swapped_are_found() {
    actix_persistence_sql_tests::rows_that_were_swapped_are_found(&Place::new().await).await;
}

/// On a server of its own, which is told to take such rows.
#[tokio::test]
async fn rows_that_are_too_large_are_refused_by_their_size_and_not_fetched() {
    let locks = tempfile::tempdir().unwrap();
    let server = Server::start(Database::MariaDb, locks.path()).unwrap();
    let url = server.url();
    let options = MysqlOptions::new(&url).with_store(|store| store.with_auto_initialize(true));
    let journal = MysqlJournal::new(options.clone()).unwrap();
    let snapshots = MysqlSnapshotStore::new(options.clone()).unwrap();
    let states = MysqlStateStore::new(options).unwrap();
    journal.initialize().await.unwrap();
    snapshots.initialize().await.unwrap();
    states.initialize().await.unwrap();
    let stored = OneOfEach::store(journal, snapshots, states).await;

    let large =
        "SET GLOBAL max_allowed_packet = 268435456, GLOBAL innodb_log_file_size = 2147483648";
    execute(&mut connect(&url).await, large).await;
    let mut administrator = connect(&url).await;
    for table in ["event_journal", "snapshot", "durable_state"] {
        let enlarge = format!("UPDATE {table} SET payload = REPEAT('0', 134217729)");
        execute(&mut administrator, enlarge).await;
    }

    stored.is_refused("it has 134217").await;
}
