//! The parts of statements about projections that differ between databases.

use actix_persistence_sql::ProjectionDialect;

use crate::Sqlite;

impl ProjectionDialect for Sqlite {
    const NOW: &'static str = "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)";
    const FOR_UPDATE: &'static str = "";
}
