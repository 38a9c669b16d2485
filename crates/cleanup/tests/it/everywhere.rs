//! The same on memory, SQLite, PostgreSQL and MariaDB.

use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_mysql::{MysqlJournal, MysqlOptions, MysqlSnapshotStore, MysqlStateStore};
use actix_persistence_postgres::{
    PostgresJournal, PostgresOptions, PostgresSnapshotStore, PostgresStateStore,
};
use actix_persistence_sqlite::{
    SqliteJournal, SqliteOptions, SqliteSnapshotStore, SqliteStateStore,
};
use actix_persistence_test_servers::Database;

use crate::own_database::OwnDatabase;
use crate::world::World;
use crate::{batches, events, snapshots, states};

async fn everything_is_cleaned_up(world: &World) {
    events::events_up_to_a_number_are_deleted(world).await;
    events::events_before_a_moment_are_deleted_and_the_numbers_go_on(world).await;
    events::events_before_a_moment_are_found_over_many_pages(world).await;
    events::all_events_are_deleted_and_numbers_are_kept(world).await;
    events::all_events_are_deleted_and_numbers_are_reset(world).await;
    events::an_id_never_seen_is_left_without_a_trace(world).await;
    snapshots::snapshots_are_deleted_and_events_stay(world).await;
    snapshots::what_the_latest_snapshot_covers_is_deleted(world).await;
    snapshots::a_snapshot_beyond_the_journal_covers_nothing(world).await;
    snapshots::events_and_snapshots_are_deleted_together(world).await;
    states::a_state_is_deleted_once_and_its_revision_kept(world).await;
    states::a_state_is_removed_and_its_revisions_start_again(world).await;
    batches::a_list_is_done_by_several_at_once(world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_cleaned_up_in_memory() {
    let storage = MemoryStorage::new();
    let world = World::on(
        Arc::new(storage.journal()),
        Arc::new(storage.snapshot_store()),
        Arc::new(storage.state_store()),
    );
    everything_is_cleaned_up(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_cleaned_up_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("some.db");
    let options = || SqliteOptions::new(file.to_str().unwrap());
    let world = World::on(
        Arc::new(SqliteJournal::new(options()).unwrap()),
        Arc::new(SqliteSnapshotStore::new(options()).unwrap()),
        Arc::new(SqliteStateStore::new(options()).unwrap()),
    );
    everything_is_cleaned_up(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_cleaned_up_on_postgres() {
    let database = OwnDatabase::create(Database::Postgres).await;
    let options = || {
        PostgresOptions::new(database.url()).with_store(|store| store.with_auto_initialize(true))
    };
    let world = World::on(
        Arc::new(PostgresJournal::new(options()).unwrap()),
        Arc::new(PostgresSnapshotStore::new(options()).unwrap()),
        Arc::new(PostgresStateStore::new(options()).unwrap()),
    );
    everything_is_cleaned_up(&world).await;
    drop(world);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_cleaned_up_on_mariadb() {
    let database = OwnDatabase::create(Database::MariaDb).await;
    let options =
        || MysqlOptions::new(database.url()).with_store(|store| store.with_auto_initialize(true));
    let world = World::on(
        Arc::new(MysqlJournal::new(options()).unwrap()),
        Arc::new(MysqlSnapshotStore::new(options()).unwrap()),
        Arc::new(MysqlStateStore::new(options()).unwrap()),
    );
    everything_is_cleaned_up(&world).await;
    drop(world);
    database.remove().await;
}
