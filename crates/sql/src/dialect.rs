//! The part of the SQL stores that differs between databases.

use std::error::Error;
use std::fmt;

use actix_persistence_storage_api::{
    Durability, PageLimit, PersistenceId, Recovered, RecoveryRequest, ReplayPage, ReplayRange,
    SqlValue,
};
use sqlx::Database;
use sqlx::error::DatabaseError;

use crate::{
    Connector, Fault, Group, InvalidOption, JournalStatements, Meaning, Names, Opening, Portable,
    Quoting, Settings, SnapshotStatements, StateStatements,
};

/// The connection of a dialect, as its driver has it.
pub type ConnectionOf<D> = <<D as Dialect>::Database as Database>::Connection;

/// The result of a statement without rows.
pub type ResultOf<D> = <<D as Dialect>::Database as Database>::QueryResult;

/// The row of a dialect, as its driver has it.
pub type RowOf<D> = <<D as Dialect>::Database as Database>::Row;

/// A database: its SQL, what its errors mean, and how it is reached.
///
/// Never a value: everything that differs between two stores is in the [`Options`](Self::Options).
pub trait Dialect: fmt::Debug + Send + Sync + Sized + 'static {
    /// The `kind` in a config, and how the database is called in messages.
    const NAME: &'static str;
    /// The driver.
    type Database: Portable;
    /// The options of a store.
    type Options: Settings;
    /// Opens connections.
    type Connector: Connector<Dialect = Self>;
    /// The statements of the journal that only this database has.
    type JournalQueries: fmt::Debug + Send + Sync + 'static;

    /// True if [`append`](Self::append) and [`recover`](Self::recover) are one statement each, which commits by itself.
    ///
    /// Otherwise they run between [`BEGIN`](Self::BEGIN) and [`COMMIT`](Self::COMMIT).
    const ONE_STATEMENT: bool;
    /// True if they begin that transaction, because each statement by itself costs a wait for another thread.
    const WORK_BEGINS: bool = false;
    /// Returns the number of lanes that the journal asks for: as many of its calls run at the same time.
    fn lanes(options: &Self::Options) -> usize;
    /// Returns the failure that confirmed data survives, as far as the settings tell.
    fn durability(options: &Self::Options) -> Option<Durability>;
    /// The most changes of states in one transaction, whatever the settings say.
    ///
    /// Each is a statement, and so a wait for the answer of a server; the journal needs connections in the meantime.
    const MOST_CHANGES: usize = usize::MAX;
    /// The number of attempts at work that certainly stored nothing, if a [`Meaning`] allows it.
    const ATTEMPTS: u32;
    /// Begins a transaction that writes.
    const BEGIN: &'static str;
    /// Begins a transaction that reads at one moment, or as near to that as initialising needs.
    const BEGIN_READING: &'static str;
    /// Begins a transaction that only looks for what a condition of the application finds, where such conditions need other
    /// plans than the statements of the store; none where a statement by itself will do.
    const BEGIN_FINDING: Option<&'static str> = None;
    /// Ends any of them.
    const COMMIT: &'static str;
    /// True if [`COMMIT`](Self::COMMIT) is prepared once for a connection, where its text takes longer to compile than
    /// to run.
    const PREPARES_COMMIT: bool = false;
    /// Ends the one that makes tables ready, which every start does, also one that then fails.
    const COMMIT_SET_UP: &'static str = Self::COMMIT;
    /// Ends any of them as if nothing had been done.
    const ROLLBACK: &'static str;
    /// True if keys, which are compared byte by byte, are bytes for the driver, because its texts have a collation.
    const KEYS_ARE_BYTES: bool;

    /// True if the id comes first in the values of the statements that replace a row of a state.
    ///
    /// A second statement in such a text that names the id would bind all values before it once more.
    const ID_FIRST: bool = false;

    /// True if a transaction can go on after a statement of it that failed.
    const TRANSACTIONS_SURVIVE_ERRORS: bool = true;

    /// True if statements that define tables commit what came before them.
    const DEFINITIONS_COMMIT: bool = false;

    /// True if a statement that reads or changes rows may end the transaction and report no error, as far as is known:
    /// code in the server may catch the error.
    const ROWS_MAY_END_TRANSACTIONS: bool = true;

    /// Follows on what begins the application's part of a transaction: gives its statements the settings of the server where
    /// those of the store are others.
    const BEFORE_APPLICATION: &'static str = "";
    /// Follows on what ends that part: takes back what [`BEFORE_APPLICATION`](Self::BEFORE_APPLICATION) set.
    const AFTER_APPLICATION: &'static str = "";

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

    /// The texts by which a journal stores events of changes of states.
    const CHANGE_EVENTS: ChangeEventTexts;

    /// The statements that give accounts their rights; `None` if the database has no accounts.
    const ROLES: Option<RoleTexts>;

    /// Returns the reason why the bytes of an event, a snapshot or a state cannot be stored, and the setting to change;
    /// `None` if they can.
    fn refuses(_options: &Self::Options, _bytes: &[u8]) -> Option<String> {
        None
    }

    /// Returns the connector that opens connections.
    ///
    /// # Errors
    /// If a setting cannot be used.
    fn connector(options: &Self::Options) -> Result<Self::Connector, InvalidOption>;

    /// Names without tables: how they are quoted, what else stands for keys in the steps.
    ///
    /// # Errors
    /// If a setting cannot be used.
    fn names(options: &Self::Options) -> Result<Names, InvalidOption>;

    /// Returns the meaning of an error; nothing else decides it.
    fn meaning(error: &dyn DatabaseError) -> Meaning;

    /// Returns whether a rule of a table does not take a value: the type or the length of a column, NOT NULL, UNIQUE,
    /// CHECK, a foreign key, or a trigger that raises an error.
    ///
    /// Asked only of statements in which such a rule can be that of the application.
    fn breaks_rule(error: &dyn DatabaseError) -> bool;

    /// Returns the form of an error that may be the source of another one; nothing in it can quote a row or a secret.
    fn source(error: Box<dyn DatabaseError>) -> Box<dyn Error + Send + Sync> {
        error.into_error()
    }

    /// Returns the statements of a journal with these names in them.
    fn journal_statements(names: &Names) -> JournalStatements;

    /// Returns the statements of a snapshot store with these names in them.
    fn snapshot_statements(names: &Names) -> SnapshotStatements;

    /// Returns the statements of a table of states with these names in them.
    fn state_statements(names: &Names) -> StateStatements;

    /// The statements of the journal that only this database has.
    fn journal_queries(names: &Names) -> Self::JournalQueries;

    /// Raises the epochs of all requests, which are of different ids, and answers in their order.
    fn recover(
        connection: &mut ConnectionOf<Self>,
        queries: &Self::JournalQueries,
        requests: Vec<RecoveryRequest>,
        opening: Opening,
    ) -> impl Future<Output = Result<Vec<Recovered>, Fault>> + Send;

    /// Stores the events of all ids whose epoch and highest number are what the head says, and raises that number.
    ///
    /// Returns the ids that lost: nothing of them is stored.
    fn append(
        connection: &mut ConnectionOf<Self>,
        queries: &Self::JournalQueries,
        group: Group,
        opening: Opening,
    ) -> impl Future<Output = Result<Vec<PersistenceId>, Fault>> + Send;

    /// The same in a transaction in which other things were done before, which it neither ends nor undoes: if an id lost, the
    /// caller must not commit.
    fn append_within(
        connection: &mut ConnectionOf<Self>,
        queries: &Self::JournalQueries,
        group: Group,
    ) -> impl Future<Output = Result<Vec<PersistenceId>, Fault>> + Send {
        Self::append(connection, queries, group, Opening::Done)
    }

    /// Reads events of an id from the lowest on, and what is deleted, as of one moment.
    fn read_page(
        connection: &mut ConnectionOf<Self>,
        queries: &Self::JournalQueries,
        id: &PersistenceId,
        range: ReplayRange,
        limit: PageLimit,
    ) -> impl Future<Output = Result<ReplayPage, Fault>> + Send;

    /// Keeps others from making the same tables until the connection or its transaction ends.
    fn lock_schema(
        connection: &mut ConnectionOf<Self>,
        names: &Names,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Fails if the stores cannot be written to; within a transaction that writes, when the tables are there.
    fn check_writable(
        connection: &mut ConnectionOf<Self>,
        names: &Names,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// True if [`check_journal`](Self::check_journal) looks at anything.
    const CHECKS_JOURNAL: bool = false;

    /// Fails if events are missing that were stored, as far as the tables of a journal tell when they are opened.
    fn check_journal(
        _connection: &mut ConnectionOf<Self>,
        _queries: &Self::JournalQueries,
    ) -> impl Future<Output = Result<(), Fault>> + Send {
        async { Ok(()) }
    }

    /// Returns the number of rows that a statement changed, or found to change.
    fn rows_affected(result: &ResultOf<Self>) -> u64;

    /// Returns the text of a statement of the application with the placeholders of the database for `$1`, `$2` and so on,
    /// and the values in the order in which that text takes them.
    ///
    /// Statements with values of other types have other texts, where the driver keeps types with a prepared text.
    ///
    /// # Errors
    /// If something is wrong with the placeholders: says what.
    fn placeholders(sql: &str, values: Vec<SqlValue>) -> Result<(String, Vec<SqlValue>), String>;

    /// The quotes and comments of the database.
    const QUOTING: Quoting;

    /// Returns the placeholder of the value with this number, from 1 on.
    fn placeholder(position: usize) -> String;

    /// Returns the placeholder for a value of the application that goes into a column of this type, with a cast to that
    /// type if the database needs one.
    fn cast(placeholder: &str, _value: &SqlValue, _type_name: &str) -> String {
        placeholder.to_owned()
    }

    /// Returns whether a column of this type would take a value of the application, and keep another one without a
    /// word.
    fn changes(_value: &SqlValue, _type_name: &str) -> bool {
        false
    }

    /// Adds a value of the application to those of a statement.
    fn add_value(arguments: &mut <Self::Database as Database>::Arguments, value: SqlValue);

    /// Reads a value for the application.
    ///
    /// # Errors
    /// If the column has a type for which there is no value; the message says how to cast it.
    fn read_value(row: &RowOf<Self>, column: usize) -> Result<SqlValue, Fault>;

    /// Returns whether others are in the way for a moment: of initialising, or of a transaction that its work begins.
    fn is_disturbed(fault: &Fault) -> bool;
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
    /// Selects whether there is such a table. Values: name. Gives: 1 or 0.
    pub table_exists: &'static str,
    /// The columns of a table. Values: name. Gives: name, type.
    pub columns: &'static str,
}

/// The texts about ids whose events tell of changes of states: in the table `{metadata_table}`, their epoch is negative.
#[derive(Clone, Copy, Debug)]
pub struct ChangeEventTexts {
    /// Makes the row of an id, or raises its highest number to the one to follow on; leaves rows with other epochs alone.
    /// Values: id, highest number, epoch, writer.
    pub adopt: &'static str,
    /// Values: id. Gives: epoch; no row for an id that the journal does not know.
    pub epoch_of: &'static str,
}

/// The statements that make `{owner}` the owner of the tables and grant their use to `{application}`.
#[derive(Clone, Copy, Debug)]
pub struct RoleTexts {
    /// Runs before the first table is made; `None` if nothing has to.
    pub before: Option<&'static str>,
    /// Grants the use of the table `{table}`.
    pub use_table: &'static str,
    /// Grants the right to read the table of schema versions.
    pub read_versions: &'static str,
}
