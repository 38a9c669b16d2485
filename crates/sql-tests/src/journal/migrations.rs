//! Steps from version to version, tried with versions of the snapshot store's tables that are not there yet.
//!
//! Version 1 is that of the plugin. Version 2 adds an index beside writers, version 3 a table in a transaction, and version 4
//! another index.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_persistence_storage_api::{
    Payload, SnapshotMetadata, SnapshotStore, StorageError, StorageErrorKind, Timestamp,
};
use async_trait::async_trait;
use futures_util::future::join_all;

use crate::Tables;
use crate::steps::{assert_error, id};

/// The newest of these versions.
pub const NEWEST: usize = 4;

/// Tables that become newer.
#[async_trait]
pub trait Upgrades: Tables {
    /// Opens the tables of the snapshot store as a program does whose newest version is this one.
    async fn upgrade(&self, newest: usize) -> Result<(), StorageError>;

    /// Returns the statement that counts the indexes of versions 2 and 4 that can be used.
    fn counts_indexes(&self) -> &'static str;
}

/// Implements [`Upgrades`] for a place with these options and this dialect.
#[macro_export]
macro_rules! upgrades_in {
    ($place:ty: $dialect:ty, $counts:expr) => {
        #[async_trait::async_trait]
        impl $crate::journal::migrations::Upgrades for $place {
            async fn upgrade(
                &self,
                newest: usize,
            ) -> Result<(), actix_persistence_storage_api::StorageError> {
                use actix_persistence_sql::{
                    Connections, Dialect, Migration, SchemaDialect, StoreSchema, TableName,
                };
                let name = TableName::parse("snapshot").unwrap();
                let names = <$dialect>::names(&self.options()).unwrap();
                let names = names
                    .table("snapshot_table", &name)
                    .plain("time_index", &name.index("by_time"))
                    .table("more_table", &name.index("more"))
                    .plain("slice_index", &name.index("by_slice"));
                let mut steps = <$dialect as SchemaDialect>::SNAPSHOT_STEPS.to_vec();
                steps.extend([
                    Migration::index("time_index", "snapshot_table", "timestamp"),
                    Migration::in_transaction("CREATE TABLE IF NOT EXISTS {more_table} (a BIGINT)"),
                    Migration::index("slice_index", "snapshot_table", "slice, timestamp"),
                ]);
                let tables = match newest {
                    1 | 2 => vec![name],
                    _ => vec![name.clone(), name.index("more")],
                };
                let steps = &steps[..newest];
                let schema = StoreSchema::<$dialect>::new("snapshot store", tables, steps, names);
                let connector = <$dialect>::connector(&self.options()).unwrap();
                let connections = Connections::new(connector);
                let made = connections
                    .initialize(std::sync::Arc::new(schema), true)
                    .await;
                connections.close().await;
                made
            }

            fn counts_indexes(&self) -> &'static str {
                $counts
            }
        }
    };
}

/// Makes a test of each function here; the expression makes tables of a test's own. After the word `server` it makes them
/// on a server, and the tests that only servers can pass are made, too.
#[macro_export]
macro_rules! test_migrations {
    (server $tables:expr) => {
        $crate::test_migrations!($tables);
        $crate::test_functions! { $tables; journal::migrations;
            an_index_that_was_made_and_not_noted_is_not_made_again;
            writers_go_on_while_an_index_is_made_beside_them
        }
    };
    ($tables:expr) => {
        $crate::test_functions! { $tables; journal::migrations;
            steps_run_once_from_any_version_on
            a_table_of_a_later_version_is_none_of_an_earlier_one;
            processes_that_upgrade_at_once_run_each_step_once
        }
    };
}

/// Saves a snapshot, which the store must take.
pub async fn save(snapshots: &dyn SnapshotStore, sequence_nr: u64) {
    let metadata = SnapshotMetadata::new(id("a"), sequence_nr, Timestamp::from_micros(1));
    let payload = Payload::new(1, "test.state:v1", b"state".to_vec());
    let saved = snapshots.save(metadata, payload).await;
    saved.unwrap_or_else(|error| panic!("{sequence_nr}: {error}"));
}

/// Checks the version of the tables, and the number of indexes that belongs to it.
pub async fn assert_version(place: &dyn Upgrades, version: i64) {
    let noted = "SELECT version FROM actix_persistence_schema WHERE table_name = 'snapshot'";
    assert_eq!(place.number(noted).await, version);
    let indexes = place.number(place.counts_indexes()).await;
    assert_eq!(indexes, version / 2);
}

/// Step by step, and several at a time.
pub async fn steps_run_once_from_any_version_on(place: &dyn Upgrades) {
    let snapshots = place.snapshot_store().await;
    save(&*snapshots, 1).await;
    for newest in [2, 2, 4, 4] {
        place.upgrade(newest).await.unwrap();
        assert_version(place, newest as i64).await;
    }
    // A program that was opened before goes on, and one that opens now is too old.
    save(&*snapshots, 2).await;
    let older = place.new_snapshot_store(place.section());
    let error = older.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "use a newer program",
    );
    assert_eq!(place.number("SELECT COUNT(*) FROM snapshot").await, 2);
}

/// The table of version 3 is not missed before.
pub async fn a_table_of_a_later_version_is_none_of_an_earlier_one(place: &dyn Upgrades) {
    place.upgrade(2).await.unwrap();
    place.upgrade(NEWEST).await.unwrap();
    place.run("DROP TABLE snapshot_more").await;
    let error = place.upgrade(NEWEST).await.unwrap_err();
    let says = "the table 'snapshot_more' is missing";
    assert_error(&error, StorageErrorKind::SchemaMismatch, says);
}

/// Each of them finds the others at it.
pub async fn processes_that_upgrade_at_once_run_each_step_once(place: &dyn Upgrades) {
    let upgrades = join_all((0..6).map(|_| place.upgrade(NEWEST))).await;
    for upgraded in upgrades {
        upgraded.unwrap();
    }
    assert_version(place, 4).await;
}

/// A process may be killed in between.
pub async fn an_index_that_was_made_and_not_noted_is_not_made_again(place: &dyn Upgrades) {
    place.upgrade(2).await.unwrap();
    let back_to = |version| {
        format!(
            "UPDATE actix_persistence_schema SET version = {version} WHERE table_name = 'snapshot'"
        )
    };
    place.run(&back_to(1)).await;
    place.upgrade(NEWEST).await.unwrap();
    place.run(&back_to(3)).await;
    place.upgrade(NEWEST).await.unwrap();
    assert_version(place, 4).await;
}

/// A program of version 1 writes all the time.
pub async fn writers_go_on_while_an_index_is_made_beside_them(place: &dyn Upgrades) {
    let snapshots = place.snapshot_store().await;
    save(&*snapshots, 1).await;
    for _ in 0..14 {
        place
            .run(
                "INSERT INTO snapshot (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, payload) \
                 SELECT CONCAT(persistence_id, '-', (SELECT COUNT(*) FROM snapshot AS s)), sequence_nr, slice, timestamp, \
                     serializer_id, manifest, payload FROM snapshot",
            )
            .await;
    }
    let is_done = AtomicBool::new(false);
    let writing = async {
        let mut saved = 1;
        while !is_done.load(Ordering::Relaxed) {
            saved += 1;
            save(&*snapshots, saved).await;
        }
        saved
    };
    let upgrading = async {
        place.upgrade(NEWEST).await.unwrap();
        is_done.store(true, Ordering::Relaxed);
    };
    let (saved, ()) = futures_util::join!(writing, upgrading);
    assert_version(place, 4).await;
    let kept = format!(
        "SELECT COUNT(*) FROM snapshot WHERE persistence_id = '{}'",
        id("a")
    );
    assert_eq!(place.number(&kept).await, saved as i64);
}

/// Begins to upgrade as another process does.
pub fn upgrading<P: Upgrades + 'static>(
    place: &Arc<P>,
) -> tokio::task::JoinHandle<Result<(), StorageError>> {
    let place = Arc::clone(place);
    tokio::spawn(async move { place.upgrade(NEWEST).await })
}
