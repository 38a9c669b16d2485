//! The part of a dialect that makes tables and their versions.

use super::{ConnectionOf, Driver};
use crate::{Migration, SqlError, SqlNames};

/// The tables of the stores, version by version, and what is looked at when they are opened.
pub trait SchemaDialect: Driver {
    /// Makes and finds the table of versions.
    const VERSIONS: VersionTexts;

    /// The steps of the journal's schema: the first makes version 1, each further one the next of the one before.
    ///
    /// A released step never changes.
    const JOURNAL_STEPS: &'static [Migration];

    /// The tables of the journal beside those that every database has, by what follows on the name of the table of events:
    /// `ordering` for `event_journal_ordering`.
    const MORE_JOURNAL_TABLES: &'static [&'static str] = &[];

    /// The steps of the snapshot store's schema.
    const SNAPSHOT_STEPS: &'static [Migration];

    /// The steps of the schema of a table of states.
    const STATE_STEPS: &'static [Migration];

    /// The tables beside one of states, by what follows on its name.
    const MORE_STATE_TABLES: &'static [&'static str] = &[];

    /// The steps of the schema of the tables of projections.
    const PROJECTION_STEPS: &'static [Migration];

    /// The statements that grant accounts their rights; `None` if the database has no accounts.
    const ROLES: Option<RoleTexts>;

    /// The statements that make indexes.
    const INDEXES: IndexTexts;

    /// The statements before and after the steps of an application that a person runs, so that tables whose schema the steps
    /// leave out are those of the store; none where there are no such schemas.
    const AROUND_STEPS_BY_HAND: Option<[&'static str; 2]> = None;

    /// Keeps others from making tables in this database until the session ends; returns false, and does not wait, if another
    /// session makes some.
    ///
    /// Asked outside a transaction: who waits with a transaction open would be waited for by an index that is made beside
    /// writers. A database whose transactions that write come one after another needs nothing else.
    fn try_lock_schema(
        _connection: &mut ConnectionOf<Self>,
    ) -> impl Future<Output = Result<bool, SqlError>> + Send {
        std::future::ready(Ok(true))
    }

    /// Makes what must be there before any table; within a transaction that writes.
    fn before_tables(
        _connection: &mut ConnectionOf<Self>,
        _names: &SqlNames,
    ) -> impl Future<Output = Result<(), SqlError>> + Send {
        std::future::ready(Ok(()))
    }

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
    /// Notes or changes a version, with the other tables. Values: table, other tables, component, version.
    pub set: &'static str,
    /// Deletes a note. Values: table.
    pub forget: &'static str,
    /// Selects the notes of a component in the order of their versions. Values: component. Rows: version, other tables.
    pub select_steps: &'static str,
    /// Selects 1 if there is such a table, and 0 if not. Values: name.
    pub table_exists: &'static str,
    /// The columns of a table. Values: name. Returns: name, type.
    pub columns: &'static str,
}

/// The texts that make indexes; with names in them.
#[derive(Clone, Copy, Debug)]
pub struct IndexTexts {
    /// The text before and the text after the columns in the statement that makes `{index}` of the `{table}`.
    pub create: [&'static str; 2],
    /// The texts beside that statement where it runs beside writers and outside a transaction; none where it is part of one.
    pub beside_writers: Option<BesideWritersTexts>,
}

/// The texts about what runs beside writers, and outside a transaction.
#[derive(Clone, Copy, Debug)]
pub struct BesideWritersTexts {
    /// Lifts the limits of the session on the time of a statement: no writer waits for it.
    pub before: &'static str,
    /// Selects 1 if `{index}` of the `{table}` is whole, and 0 if it is not; no row if it is missing.
    pub index_state: &'static str,
    /// Drops `{index}`.
    pub drop_index: &'static str,
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
