//! The tables of a store and their versions.
//!
//! `sqlx::migrate` fails if two processes start at once on SQLite or MariaDB, and keeps PostgreSQL's lock after a
//! migration that failed (see `docs/upstream`): so the steps are run here, in one transaction or under a lock.

mod own_columns;

use std::marker::PhantomData;

use actix_persistence_storage_api::Roles;
use sqlx::SqlStr;

use crate::row::{get_integer, get_text};
use crate::values::Values;
use crate::{
    ConnectionOf, Dialect, InvalidOption, SqlError, SqlNames, SqlxDatabase, StoreOptions, TableName,
};

use own_columns::own_columns;

/// The tables of one kind of store, and the steps that make them.
///
/// Journal, snapshot store and state store have versions of their own, one for each set of names: a database may hold several.
#[derive(Debug)]
pub struct StoreSchema<D: Dialect> {
    /// The kind of store, which the version table calls a component.
    name: &'static str,
    /// The first names the row of the version table.
    tables: Vec<TableName>,
    /// The columns that the steps add to each of them, in the same order.
    columns: Vec<Vec<Box<str>>>,
    /// The steps of which the schema is made: step `n` makes version `n + 1` of version `n`.
    steps: Vec<SqlStr>,
    /// The columns of the application that are added to the first table if it lacks them.
    more_columns: Vec<MoreColumn>,
    names: SqlNames,
    versions: Versions,
    dialect: PhantomData<D>,
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

    /// Makes the schema of these tables, which the steps make; the first table identifies it.
    pub fn new(
        name: &'static str,
        tables: Vec<TableName>,
        steps: &[&'static str],
        names: SqlNames,
    ) -> Self {
        let steps: Vec<_> = steps.iter().map(|text| names.fill(text)).collect();
        let columns = tables
            .iter()
            .map(|table| own_columns(&steps, &names.quoted(table)));
        Self {
            name,
            columns: columns.collect(),
            tables,
            steps,
            more_columns: Vec::new(),
            versions: Versions {
                create: names.fill(D::VERSIONS.create),
                select: names.fill(D::VERSIONS.select),
                set: names.fill(D::VERSIONS.set),
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

    /// Returns the statements that make the tables, for a person who runs them instead of `auto-initialize`.
    ///
    /// # Errors
    /// If the database knows no roles, or one of these cannot be used.
    pub(crate) fn script(&self, roles: Option<&Roles>) -> Result<String, String> {
        let rights = roles.map(|roles| self.rights(roles)).transpose()?;
        let (before, after) = rights.unwrap_or_default();
        let columns = self.more_columns.iter().map(|column| &column.add);
        let steps = self.steps.iter().chain(columns);
        let steps = steps.map(|step| step.as_str().to_owned());
        let made = std::iter::once(self.versions.create.as_str().to_owned())
            .chain(steps)
            .chain([self.noted_by_hand()]);
        let statements = before.into_iter().chain(made).chain(after);
        let texts: Vec<_> = statements
            .map(|sql| format!("{};\n", sql.trim().trim_end_matches(';')))
            .collect();
        Ok(texts.join("\n"))
    }

    /// Returns the statements before and after those that make the tables.
    fn rights(&self, roles: &Roles) -> Result<(Vec<String>, Vec<String>), String> {
        let texts = D::ROLES.ok_or_else(|| format!("{} knows no roles", D::NAME))?;
        let role = |key: &str, name: &str| {
            TableName::parse(name).map_err(|problem| format!("the role '{key}' {problem}"))
        };
        let owner = role("owner", &roles.owner)?;
        let application = role("application", &roles.application)?;
        let names = self.names.clone();
        let names = names
            .plain("owner", &owner)
            .plain("application", &application);
        let fill = |text: &str| names.fill(text).as_str().to_owned();
        let uses = self.tables.iter().map(|table| {
            let names = names.clone().table("table", table);
            names.fill(texts.use_table).as_str().to_owned()
        });
        let after = uses.chain([fill(texts.read_versions)]).collect();
        Ok((texts.before.map(fill).into_iter().collect(), after))
    }

    /// Returns whether the tables are there, in the version of this crate.
    ///
    /// # Errors
    /// If they are newer, incomplete, or of another program.
    pub async fn is_current(&self, connection: &mut ConnectionOf<D>) -> Result<bool, SqlError> {
        Ok(self.version(connection).await? == Some(self.newest()))
    }

    /// Returns whether missing or older tables may be made; only then is there anything to write.
    pub fn check_may_be_made(&self, auto_initialize: bool) -> Result<(), SqlError> {
        if auto_initialize {
            return Ok(());
        }
        Err(SqlError::mismatch(format!(
            "the tables of the {} are missing or older than version {}; set 'auto-initialize = true' once, or run what \
             'actix-persistence schema' prints",
            self.name,
            self.newest()
        )))
    }

    /// Makes what is missing; within a transaction that writes.
    ///
    /// The version is noted after every step, so that a database which cannot take back its steps goes on where it
    /// was interrupted.
    pub async fn bring_up_to_date(&self, connection: &mut ConnectionOf<D>) -> Result<(), SqlError> {
        // Not looked at before the lock is there: between two looks others may make what the second one finds.
        D::lock_schema(connection, &self.names).await?;
        if !self.is_current(connection).await? {
            self.make_newest(connection).await?;
        }
        self.add_columns(connection).await
    }

    async fn make_newest(&self, connection: &mut ConnectionOf<D>) -> Result<(), SqlError> {
        D::Database::run(connection, self.versions.create.clone()).await?;
        let version = match self.version(connection).await? {
            Some(version) => version,
            None => {
                self.note(connection, 0).await?;
                0
            }
        };
        for (position, step) in self.steps.iter().enumerate().skip(version) {
            D::Database::run(connection, step.clone()).await?;
            self.note(connection, position + 1).await?;
        }
        Ok(())
    }

    async fn add_columns(&self, connection: &mut ConnectionOf<D>) -> Result<(), SqlError> {
        if self.more_columns.is_empty() {
            return Ok(());
        }
        let found = self.columns_of(connection, &self.tables[0]).await?;
        for column in &self.more_columns {
            if !has_column(&found, column.name.as_str()) {
                D::Database::run(connection, column.add.clone()).await?;
            }
        }
        Ok(())
    }

    /// Fails if the stores cannot be written to.
    pub async fn check_writable(&self, connection: &mut ConnectionOf<D>) -> Result<(), SqlError> {
        D::check_writable(connection, &self.names).await
    }

    async fn note(&self, connection: &mut ConnectionOf<D>, version: usize) -> Result<(), SqlError> {
        let mut values = Values::<D>::with_capacity(4);
        values.text(self.tables[0].as_str());
        values.text(&self.other_tables());
        values.text(self.name);
        values.integer(version as i64);
        D::Database::execute(
            connection,
            self.versions.set.clone(),
            values.into_arguments(),
        )
        .await?;
        Ok(())
    }

    /// Returns the statement that notes the newest version, without values.
    fn noted_by_hand(&self) -> String {
        let values = format!(
            "('{}', '{}', '{}', {})",
            self.tables[0].as_str(),
            self.other_tables(),
            self.name,
            self.newest()
        );
        let table = self.names.fill("{version_table}");
        format!(
            "INSERT INTO {} (table_name, other_tables, component, version) VALUES {values}",
            table.as_str()
        )
    }

    /// Returns the tables that belong to the first one. The version table keeps them: with another metadata table
    /// beside the same events, epochs and deleted numbers would start again.
    fn other_tables(&self) -> String {
        let names: Vec<_> = self.tables[1..].iter().map(TableName::as_str).collect();
        names.join(", ")
    }

    fn newest(&self) -> usize {
        self.steps.len()
    }

    /// Returns the version of the tables, none if nothing was ever made; 0 if making them was interrupted.
    async fn version(&self, connection: &mut ConnectionOf<D>) -> Result<Option<usize>, SqlError> {
        let version = self.noted_version(connection).await?;
        if version == Some(0) {
            return Ok(version);
        }
        for (table, columns) in self.tables.iter().zip(&self.columns) {
            let exists = self.table_exists(connection, table).await?;
            // An older version may have fewer of them.
            if exists && version == Some(self.newest()) {
                self.check_columns(connection, table, columns).await?;
            }
            let table = table.as_str();
            if version.is_none() && exists {
                return Err(SqlError::mismatch(format!(
                    "there is a table '{table}' that the {} did not make; choose other table names, or another database",
                    self.name
                )));
            }
            if version.is_some() && !exists {
                return Err(SqlError::mismatch(format!(
                    "the table '{table}' is missing, although the {} with the table '{}' was made; \
                     use the same table names as then, or restore a backup",
                    self.name,
                    self.tables[0].as_str()
                )));
            }
        }
        Ok(version)
    }

    async fn noted_version(
        &self,
        connection: &mut ConnectionOf<D>,
    ) -> Result<Option<usize>, SqlError> {
        if !self
            .table_exists(connection, &TableName::of_versions())
            .await?
        {
            return Ok(None);
        }
        let mut values = Values::<D>::with_capacity(1);
        values.text(self.tables[0].as_str());
        let rows = D::Database::fetch_all(
            connection,
            self.versions.select.clone(),
            values.into_arguments(),
        )
        .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let component = get_text::<D>(row, 0)?;
        if component != self.name {
            return Err(SqlError::mismatch(format!(
                "the table '{}' belongs to a {component}; give the {} a table of its own",
                self.tables[0].as_str(),
                self.name
            )));
        }
        let others = get_text::<D>(row, 2)?;
        if !others.eq_ignore_ascii_case(&self.other_tables()) {
            return Err(SqlError::mismatch(format!(
                "the table '{}' was made together with {others}, not with {}; use the same table names as then",
                self.tables[0].as_str(),
                self.other_tables()
            )));
        }
        let version = get_integer::<D>(row, 1)?;
        match usize::try_from(version) {
            Ok(version) if version <= self.newest() => Ok(Some(version)),
            _ => Err(SqlError::mismatch(format!(
                "the tables of the {} have version {version}, newer than version {} of this program; \
                 use a newer program",
                self.name,
                self.newest()
            ))),
        }
    }

    /// Returns the columns that a table has, with what the database calls their types.
    pub(crate) async fn columns_of(
        &self,
        connection: &mut ConnectionOf<D>,
        table: &TableName,
    ) -> Result<Vec<(String, String)>, SqlError> {
        let mut values = Values::<D>::with_capacity(1);
        values.text(table.as_str());
        let sql = self.versions.columns.clone();
        let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
        rows.iter()
            .map(|row| Ok((get_text::<D>(row, 0)?, get_text::<D>(row, 1)?)))
            .collect()
    }

    /// Fails if a table lacks a column: nothing would ever make it again.
    async fn check_columns(
        &self,
        connection: &mut ConnectionOf<D>,
        table: &TableName,
        columns: &[Box<str>],
    ) -> Result<(), SqlError> {
        let found = self.columns_of(connection, table).await?;
        let missing = columns.iter().filter(|column| !has_column(&found, column));
        let missing: Vec<_> = missing.map(|name| format!("'{name}'")).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(SqlError::mismatch(format!(
            "the table '{}' of the {} has no column {}; add it as 'actix-persistence schema' prints it, with what it held, \
             or restore a backup",
            table.as_str(),
            self.name,
            missing.join(", ")
        )))
    }

    async fn table_exists(
        &self,
        connection: &mut ConnectionOf<D>,
        table: &TableName,
    ) -> Result<bool, SqlError> {
        let mut values = Values::<D>::with_capacity(1);
        values.text(table.as_str());
        let sql = self.versions.table_exists.clone();
        let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
        let exists = rows
            .first()
            .map(|row| get_integer::<D>(row, 0))
            .transpose()?;
        Ok(exists == Some(1))
    }
}

/// Returns whether a column is among those that were found, whatever the case.
pub(crate) fn has_column(found: &[(String, String)], name: &str) -> bool {
    let mut found = found.iter();
    found.any(|(other, _)| other.eq_ignore_ascii_case(name))
}
