//! Steps from version to version, in transactions and beside writers.

use std::sync::Arc;

use actix_persistence_postgres::Postgres;
use actix_persistence_sql_tests::journal::migrations::{Upgrades, assert_version, save, upgrading};
use actix_persistence_sql_tests::{OnServer, Tables, until_number};
use actix_persistence_storage_api::{SnapshotStore, StorageError};
use sqlx::PgConnection;
use tokio::task::JoinHandle;

use crate::database::execute;
use crate::place::Place;

actix_persistence_sql_tests::upgrades_in!(Place: Postgres, "\
    SELECT COUNT(*) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid \
    WHERE i.indisvalid AND c.relname IN ('snapshot_by_time', 'snapshot_by_slice')");

actix_persistence_sql_tests::test_migrations!(server Place::new().await);

const BROKEN: &str = "SELECT COUNT(*) FROM pg_index WHERE NOT indisvalid";

/// Returns a transaction for which an index that is made now waits.
async fn old_transaction(place: &Place) -> PgConnection {
    let mut other = place.connection().await;
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM snapshot";
    execute(&mut other, begin).await;
    other
}

/// Returns a place of version 1 with one snapshot, and the open store.
async fn place_with_a_snapshot() -> (Arc<Place>, Arc<dyn SnapshotStore>) {
    let place = Arc::new(Place::new().await);
    let snapshots = Tables::snapshot_store(&*place).await;
    save(&*snapshots, 1).await;
    (place, snapshots)
}

/// Returns an old transaction, and an upgrade that waits for it while it makes an index.
async fn upgrade_that_waits(
    place: &Arc<Place>,
) -> (PgConnection, JoinHandle<Result<(), StorageError>>) {
    let old = old_transaction(place).await;
    let upgrade = upgrading(place);
    place.until_waiting(1).await;
    (old, upgrade)
}

async fn end_upgrades(place: &Place) {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%'";
    place.run(end).await;
}

#[tokio::test]
async fn nothing_waits_for_an_index_that_waits_for_an_old_transaction() {
    let (place, snapshots) = place_with_a_snapshot().await;
    let (old, upgrade) = upgrade_that_waits(&place).await;

    // Neither a program of the older version that is open, nor one that opens now.
    save(&*snapshots, 2).await;
    place.upgrade(1).await.unwrap();
    save(&*Tables::snapshot_store(&*place).await, 3).await;
    // One that needs the index waits, and the index does not wait for it.
    let others = [upgrading(&place), upgrading(&place)];
    let asked = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
        AND query LIKE '%pg_try_advisory_lock%'";
    until_number(&*place, asked, |number| number >= 3).await;
    assert_version(&*place, 1).await;
    drop(old);
    for upgrade in [upgrade].into_iter().chain(others) {
        upgrade.await.unwrap().unwrap();
    }
    assert_version(&*place, 4).await;
}

#[tokio::test]
async fn an_index_that_was_left_broken_is_made_again() {
    let (place, _) = place_with_a_snapshot().await;
    let (old, upgrade) = upgrade_that_waits(&place).await;
    end_upgrades(&place).await;
    let error = upgrade.await.unwrap().unwrap_err();
    assert!(error.kind().is_transient(), "{error:?}");
    assert_eq!(place.number(BROKEN).await, 1);
    assert_version(&*place, 1).await;
    drop(old);

    place.upgrade(4).await.unwrap();
    assert_eq!(place.number(BROKEN).await, 0);
    assert_version(&*place, 4).await;
}

#[tokio::test]
async fn an_open_that_was_given_up_brings_its_step_to_an_end() {
    let (place, _) = place_with_a_snapshot().await;
    let (old, upgrade) = upgrade_that_waits(&place).await;
    upgrade.abort();
    assert!(upgrade.await.unwrap_err().is_cancelled());
    let next = upgrading(&place);
    drop(old);
    next.await.unwrap().unwrap();
    assert_eq!(place.number(BROKEN).await, 0);
    assert_version(&*place, 4).await;
}
