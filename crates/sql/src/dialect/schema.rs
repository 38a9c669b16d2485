//! The part of a dialect that makes tables and their versions.

use super::{ConnectionOf, Driver};
use crate::{SqlError, SqlNames};

/// The tables of the stores, version by version, and what is looked at when they are opened.
pub trait SchemaDialect: Driver {
    /// Makes and finds the table of versions.
    const VERSIONS: VersionTexts;

    /// The steps of the journal's schema: the first makes version 1, each further one the next of the one before.
    ///
    /// A released step never changes. A step that is not undone when it breaks can be repeated.
    const JOURNAL_STEPS: &'static [&'static str];

    /// The tables of the journal beside those that every database has, by what follows on the name of the table of events:
    /// `ordering` for `event_journal_ordering`.
    const MORE_JOURNAL_TABLES: &'static [&'static str] = &[];

    /// The steps of the snapshot store's schema.
    const SNAPSHOT_STEPS: &'static [&'static str];

    /// The steps of the schema of a table of states.
    const STATE_STEPS: &'static [&'static str];

    /// The tables beside one of states, by what follows on its name.
    const MORE_STATE_TABLES: &'static [&'static str] = &[];

    /// The statements that grant accounts their rights; `None` if the database has no accounts.
    const ROLES: Option<RoleTexts>;

    /// Keeps others from making the same tables until the connection or its transaction ends.
    fn lock_schema(
        connection: &mut ConnectionOf<Self>,
        names: &SqlNames,
    ) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// Fails if the stores cannot be written to; within a transaction that writes, when the tables are there.
    fn check_writable(
        connection: &mut ConnectionOf<Self>,
        names: &SqlNames,
    ) -> impl Future<Output = Result<(), SqlError>> + Send;
}

/// The texts that find and keep versions; with names in them.
#[derive(Clone, Copy, Debug)]
pub struct VersionTexts {
    /// Makes the table `{version_table}` if it is missing.
    pub create: &'static str,
    /// Selects the note about the store with this first table. Values: table. Rows: component, version, other tables.
    pub select: &'static str,
    /// Notes or changes a version. Values: table, other tables, component, version.
    pub set: &'static str,
    /// Selects 1 if there is such a table, and 0 if not. Values: name.
    pub table_exists: &'static str,
    /// The columns of a table. Values: name. Returns: name, type.
    pub columns: &'static str,
}

/// The texts that make the owner the owner of the tables, and grant their use to the application: `{owner}` and
/// `{application}`.
#[derive(Clone, Copy, Debug)]
pub struct RoleTexts {
    /// The statement that comes before anything is made, if something must.
    pub before: Option<&'static str>,
    /// The statement that allows the use of a `{table}`.
    pub use_table: &'static str,
    /// The statement that allows a look at the versions.
    pub read_versions: &'static str,
}
