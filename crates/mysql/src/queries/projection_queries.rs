//! The parts of statements about projections that differ between databases.

use actix_persistence_sql::ProjectionDialect;

use crate::Mysql;

impl ProjectionDialect for Mysql {
    const NOW: &'static str = "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)";
    const FOR_UPDATE: &'static str = " FOR UPDATE";
}
