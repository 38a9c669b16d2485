//! Steps from version to version.

use crate::place::Place;
use actix_persistence_sqlite::Sqlite;

actix_persistence_sql_tests::upgrades_in!(Place: Sqlite, "\
    SELECT COUNT(*) FROM sqlite_schema WHERE type = 'index' AND name IN ('snapshot_by_time', 'snapshot_by_slice')");

actix_persistence_sql_tests::test_migrations!(Place::new());
