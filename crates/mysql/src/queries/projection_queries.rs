//! The parts of statements about projections that differ between databases.

use actix_persistence_sql::ProjectionDialect;

use crate::Mysql;

impl ProjectionDialect for Mysql {
    // Not `UNIX_TIMESTAMP`: it goes by the zone of the session, and so an hour to and fro where that has a summer time.
    const NOW: &'static str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000";
    const FOR_UPDATE: &'static str = " FOR UPDATE";
}
