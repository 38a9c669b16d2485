//! The tables of a store and their versions.
//!
//! `sqlx::migrate` fails if two processes start at once on SQLite or MariaDB, keeps PostgreSQL's lock after a migration that
//! failed (see `docs/upstream`), and makes no index beside writers: so the steps are run here, in one transaction or under a
//! lock.

mod application;
mod migration;
mod own_columns;
mod running;
mod script;
mod versions;

use std::marker::PhantomData;

use sqlx::SqlStr;

use crate::{Dialect, InvalidOption, SqlNames, StoreOptions, TableName};

use application::Application;
use migration::Step;
use own_columns::own_columns;

pub use migration::Migration;
pub use running::BesideWriters;
pub(crate) use versions::has_column;

/// The tables of one kind of store, or those of an application beside them, and the steps that make them.
///
/// Journal, snapshot store, state store and offset store have versions of their own, one for each set of names: a database may hold several.
#[derive(Debug)]
pub struct StoreSchema<D: Dialect> {
    owner: Owner,
    /// The first of a store names the row of the version table.
    tables: Vec<TableName>,
    /// The columns that the steps add to each of them, in the same order.
    columns: Vec<Vec<Box<str>>>,
    /// The steps of which the schema is made: step `n` makes version `n + 1` of version `n`.
    steps: Vec<Step>,
    /// The columns of the application that are added to the first table if it lacks them.
    more_columns: Vec<MoreColumn>,
    names: SqlNames,
    versions: Versions,
    dialect: PhantomData<D>,
}

/// The user of the tables.
#[derive(Debug)]
enum Owner {
    /// A store of this kind, which the version table calls a component.
    Store(&'static str),
    Application(Application),
}

/// A column of the application, and the statement that adds it.
#[derive(Clone, Debug)]
pub(crate) struct MoreColumn {
    pub(crate) name: TableName,
    pub(crate) add: SqlStr,
}

/// The texts about versions, with names in them.
#[derive(Debug)]
struct Versions {
    create: SqlStr,
    select: SqlStr,
    set: SqlStr,
    forget: SqlStr,
    select_steps: SqlStr,
    table_exists: SqlStr,
    columns: SqlStr,
}

impl<D: Dialect> StoreSchema<D> {
    /// Makes the schema of the tables `{event_table}`, `{tag_table}` and `{metadata_table}`, with names for indexes:
    /// `{event_type_index}`, `{tag_index}` and `{unswept_index}`.
    ///
    /// # Errors
    /// If a name cannot be used.
    pub(crate) fn journal(names: SqlNames, options: &StoreOptions) -> Result<Self, InvalidOption> {
        let mut tables = Vec::from(options.journal_tables()?);
        let events = tables[0].clone();
        tables.extend(D::MORE_JOURNAL_TABLES.iter().map(|more| events.index(more)));
        Ok(Self::new("journal", tables, D::JOURNAL_STEPS, names))
    }

    /// Makes the schema of the table `{snapshot_table}`.
    ///
    /// # Errors
    /// If the name cannot be used.
    pub(crate) fn snapshot_store(
        names: SqlNames,
        options: &StoreOptions,
    ) -> Result<Self, InvalidOption> {
        let tables = vec![options.snapshot_table()?];
        Ok(Self::new(
            "snapshot store",
            tables,
            D::SNAPSHOT_STEPS,
            names,
        ))
    }

    /// Makes the schema of the table `{state_table}`, and of those that belong to it.
    pub(crate) fn state_table(names: SqlNames, table: &TableName) -> Self {
        let more = D::MORE_STATE_TABLES.iter().map(|more| table.index(more));
        let tables = std::iter::once(table.clone()).chain(more).collect();
        Self::new("state store", tables, D::STATE_STEPS, names)
    }

    /// The tables beside that of projections, by what follows on its name.
    pub(crate) const BESIDE_PROJECTIONS: [&'static str; 6] =
        ["share", "lease", "member", "skipped", "parked", "waiting"];

    /// Makes the schema of the table `{projection_table}`, and of those beside it: `{share_table}` and so on.
    pub(crate) fn offset_store(names: SqlNames, table: &TableName) -> Self {
        let beside = Self::BESIDE_PROJECTIONS.map(|beside| table.index(beside));
        let tables = std::iter::once(table.clone()).chain(beside).collect();
        Self::new("offset store", tables, D::PROJECTION_STEPS, names)
    }

    /// Makes the schema of these tables, which the steps make; the first table identifies it.
    pub fn new(
        name: &'static str,
        tables: Vec<TableName>,
        steps: &[Migration],
        names: SqlNames,
    ) -> Self {
        let steps = steps.iter().map(|step| step.filled::<D>(&names));
        let steps = steps.collect();
        Self::of(Owner::Store(name), tables, steps, names)
    }

    fn of(owner: Owner, tables: Vec<TableName>, steps: Vec<Step>, names: SqlNames) -> Self {
        let columns = tables
            .iter()
            .map(|table| own_columns(&steps, &names.quoted(table)));
        Self {
            owner,
            columns: columns.collect(),
            tables,
            steps,
            more_columns: Vec::new(),
            versions: Versions {
                create: names.fill(D::VERSIONS.create),
                select: names.fill(D::VERSIONS.select),
                set: names.fill(D::VERSIONS.set),
                forget: names.fill(D::VERSIONS.forget),
                select_steps: names.fill(D::VERSIONS.select_steps),
                table_exists: names.fill(D::VERSIONS.table_exists),
                columns: names.fill(D::VERSIONS.columns),
            },
            names,
            dialect: PhantomData,
        }
    }

    /// Adds columns of the application to the first table wherever that is brought up to date.
    #[must_use]
    pub(crate) fn with_columns(mut self, columns: Vec<MoreColumn>) -> Self {
        self.more_columns = columns;
        self
    }

    /// Returns the columns of the first table, without those of an application.
    pub(crate) fn own_columns(&self) -> &[Box<str>] {
        &self.columns[0]
    }
}
