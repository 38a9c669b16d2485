//! Servers on which a locking read fails if the row has changed since the transaction's snapshot: the default of MariaDB
//! from 11.6 on.
//!
//! <https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-system-variables#innodb_snapshot_isolation>

use std::path::Path;

use actix_persistence_sql_tests::{Tables, late_writes_are_refused};
use actix_persistence_test_servers::{Database, Server};

use crate::counters::number_beside_other_partitions;
use crate::database::{connect, execute};
use crate::late_numbers::{number_after_another, number_for_a_dead_process};
use crate::place::Place;

/// A server with this setting for the sessions of all its databases, or `None` if it does not know it.
async fn server(is_on: bool) -> Option<Server> {
    let locks = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let server = Server::start(Database::MariaDb, locks).unwrap();
    let mut administrator = connect(&server.url()).await;
    let known = "SELECT COUNT(*) FROM information_schema.global_variables \
                 WHERE variable_name = 'innodb_snapshot_isolation'";
    let known: i64 = sqlx::query_scalar(known)
        .fetch_one(&mut administrator)
        .await
        .unwrap();
    if known == 0 {
        eprintln!("skipped: this server does not know innodb_snapshot_isolation");
        return None;
    }
    let set = format!("SET GLOBAL innodb_snapshot_isolation = {is_on}");
    execute(&mut administrator, set).await;
    let mut session = connect(&server.url()).await;
    let found: i64 = sqlx::query_scalar("SELECT CAST(@@innodb_snapshot_isolation AS SIGNED)")
        .fetch_one(&mut session)
        .await
        .unwrap();
    assert_eq!(found, i64::from(is_on));
    Some(server)
}

#[tokio::test]
async fn numbers_are_the_same_with_snapshot_isolation_and_without() {
    for is_on in [false, true] {
        let Some(server) = server(is_on).await else {
            continue;
        };
        number_beside_other_partitions(&Place::on(&server).await).await;
        number_for_a_dead_process(&Place::on(&server).await).await;
        for procedure in ["COMMIT", "ROLLBACK"] {
            number_after_another(&Place::on(&server).await, procedure).await;
        }
    }
}

#[test]
fn late_writes_are_refused_with_snapshot_isolation_and_without() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for is_on in [false, true] {
        let Some(server) = runtime.block_on(server(is_on)) else {
            continue;
        };
        let place = runtime.block_on(Place::on(&server));
        late_writes_are_refused(&place.url(), &Place::journal_at);
    }
}
