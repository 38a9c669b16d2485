//! The abilities that only some stores have.

use std::fmt;

/// An ability that only some stores have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    AtomicBatches,
    Metadata,
    Tags,
    Purge,
    Queries,
    EventQueries,
    SqlSession,
    Transactions,
}

impl Capability {
    /// Returns its name, as fixtures give it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Capability::AtomicBatches => "atomic_batches",
            Capability::Metadata => "metadata",
            Capability::Tags => "tags",
            Capability::Purge => "purge",
            Capability::Queries => "queries",
            Capability::EventQueries => "event_queries",
            Capability::SqlSession => "sql_session",
            Capability::Transactions => "transactions",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
