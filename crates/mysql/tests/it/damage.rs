//! Rows that were damaged, or changed around the plugin.

use actix_persistence_sql_tests::OneOfEach;
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
    let place = Place::on(&server).await;
    let stored = OneOfEach::store(&place).await;
    let large =
        "SET GLOBAL max_allowed_packet = 268435456, GLOBAL innodb_log_file_size = 2147483648";
    execute(&mut connect(&server.url()).await, large).await;
    for table in ["event_journal", "snapshot", "durable_state"] {
        let enlarge = format!("UPDATE {table} SET payload = REPEAT('0', 134217729)");
        place.run(enlarge).await;
    }
    stored.is_refused("it has 134217").await;
}
