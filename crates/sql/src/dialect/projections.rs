//! The part of a dialect for the tables of projections.

use super::Driver;

/// The differences between databases in the statements about projections, which are the same elsewhere.
pub trait ProjectionDialect: Driver {
    /// An expression for the time of the database, in milliseconds since 1970, UTC.
    const NOW: &'static str;

    /// The end of a `SELECT` that locks its rows until the transaction ends; empty where transactions that write come one
    /// after the other.
    const FOR_UPDATE: &'static str;
}
