//! Steps from version to version, one by one and beside writers.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_mysql::Mysql;
use actix_persistence_sql_tests::Tables;
use actix_persistence_sql_tests::journal::migrations::{assert_version, save, upgrading};

use crate::database::execute;
use crate::place::Place;

actix_persistence_sql_tests::upgrades_in!(Place: Mysql, "\
    SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics \
    WHERE table_schema = DATABASE() AND index_name IN ('snapshot_by_time', 'snapshot_by_slice')");

actix_persistence_sql_tests::test_migrations!(server Place::new().await);

#[tokio::test]
async fn an_index_whose_session_ended_is_made_by_the_next_start() {
    let place = Arc::new(Place::new().await);
    let snapshots = Tables::snapshot_store(&*place).await;
    save(&*snapshots, 1).await;
    let mut other = place.connection().await;
    execute(&mut other, "BEGIN; SELECT COUNT(*) FROM snapshot").await;
    let upgrade = upgrading(&place);
    let waiting = "SELECT CAST(COALESCE(MAX(id), 0) AS SIGNED) FROM information_schema.processlist \
        WHERE db = DATABASE() AND state LIKE 'Waiting for table metadata lock%'";
    let session = loop {
        match place.number(waiting).await {
            0 => tokio::time::sleep(Duration::from_millis(10)).await,
            session => break session,
        }
    };
    // Another one that starts meanwhile waits for it, and it does not wait for that one.
    let next = upgrading(&place);
    place.run(&format!("KILL {session}")).await;
    let error = upgrade.await.unwrap().unwrap_err();
    assert!(error.kind().is_transient(), "{error:?}");
    execute(&mut other, "COMMIT").await;
    next.await.unwrap().unwrap();
    assert_version(&*place, 4).await;
}
