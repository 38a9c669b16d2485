//! The parts of statements about projections that differ between databases.

use actix_persistence_sql::ProjectionDialect;

use crate::Postgres;

impl ProjectionDialect for Postgres {
    const NOW: &'static str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    const FOR_UPDATE: &'static str = " FOR UPDATE";
}
