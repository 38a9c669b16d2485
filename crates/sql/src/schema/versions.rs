//! The version of the tables of a store, as the table of versions has it, and what it says of the tables.

use super::{Owner, StoreSchema};
use crate::row::{get_integer, get_text};
use crate::values::Values;
use crate::{ConnectionOf, Dialect, SqlError, SqlxDatabase, TableName};

impl<D: Dialect> StoreSchema<D> {
    pub(super) fn newest(&self) -> usize {
        self.steps.len()
    }

    /// Returns the component, as the table of versions and messages have it.
    pub(super) fn component(&self) -> &str {
        match &self.owner {
            Owner::Store(name) => name,
            Owner::Application(application) => &application.component,
        }
    }

    /// Notes that the steps up to this version have run.
    pub(super) async fn note(
        &self,
        connection: &mut ConnectionOf<D>,
        version: usize,
    ) -> Result<(), SqlError> {
        match &self.owner {
            Owner::Application(application) => {
                application.note_run(self, connection, version).await
            }
            Owner::Store(name) => {
                let (table, others) = (self.tables[0].as_str(), self.other_tables());
                let version = version as i64;
                self.set_version(connection, table, &others, name, version)
                    .await
            }
        }
    }

    pub(super) async fn set_version(
        &self,
        connection: &mut ConnectionOf<D>,
        key: &str,
        others: &str,
        component: &str,
        version: i64,
    ) -> Result<(), SqlError> {
        let mut values = Values::<D>::with_capacity(4);
        values.text(key);
        values.text(others);
        values.text(component);
        values.integer(version);
        let sql = self.versions.set.clone();
        D::Database::execute(connection, sql, values.into_arguments()).await?;
        Ok(())
    }

    /// Returns the statement that notes a version, without values.
    pub(super) fn noted_by_hand(&self, version: usize) -> String {
        let values = match &self.owner {
            Owner::Application(application) => application.noted_by_hand(version),
            Owner::Store(name) => format!(
                "('{}', '{}', '{name}', {version})",
                self.tables[0].as_str(),
                self.other_tables(),
            ),
        };
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

    /// Returns the version of the tables, none if nothing was ever made; 0 if making them was interrupted, or none of an
    /// application's steps has run.
    ///
    /// # Errors
    /// If they are newer, incomplete, or of another program.
    pub(super) async fn version(
        &self,
        connection: &mut ConnectionOf<D>,
    ) -> Result<Option<usize>, SqlError> {
        match &self.owner {
            Owner::Store(name) => self.version_of_store(connection, name).await,
            Owner::Application(application) => {
                let version = application.applied(self, connection).await?;
                if version == self.newest() {
                    self.check_tables_of(connection, &application.name).await?;
                }
                Ok(Some(version))
            }
        }
    }

    /// Fails if a table that an application's steps name is not there.
    pub(super) async fn check_tables_of(
        &self,
        connection: &mut ConnectionOf<D>,
        steps: &str,
    ) -> Result<(), SqlError> {
        for table in &self.tables {
            if !self.table_exists(connection, table).await? {
                return Err(SqlError::mismatch(format!(
                    "the table '{}' is missing, although the schema steps '{steps}' have run; restore a backup, or take it out \
                     of the names of their tables",
                    table.as_str()
                )));
            }
        }
        Ok(())
    }

    async fn version_of_store(
        &self,
        connection: &mut ConnectionOf<D>,
        name: &str,
    ) -> Result<Option<usize>, SqlError> {
        let version = self.noted_version(connection, name).await?;
        // Of an older version, one of the next steps may make what is missing.
        if version.is_some_and(|version| version < self.newest()) {
            return Ok(version);
        }
        for (table, columns) in self.tables.iter().zip(&self.columns) {
            let exists = self.table_exists(connection, table).await?;
            let table_name = table.as_str();
            match (version, exists) {
                (Some(_), true) => self.check_columns(connection, table, columns).await?,
                (Some(_), false) => {
                    return Err(SqlError::mismatch(format!(
                        "the table '{table_name}' is missing, although the {} with the table '{}' was made; \
                         use the same table names as then, or restore a backup",
                        name,
                        self.tables[0].as_str()
                    )));
                }
                (None, true) => {
                    return Err(SqlError::mismatch(format!(
                        "there is a table '{table_name}' that the {} did not make; choose other table names, or another \
                         database",
                        name
                    )));
                }
                (None, false) => {}
            }
        }
        Ok(version)
    }

    async fn noted_version(
        &self,
        connection: &mut ConnectionOf<D>,
        name: &str,
    ) -> Result<Option<usize>, SqlError> {
        if !self.has_versions(connection).await? {
            return Ok(None);
        }
        let mut values = Values::<D>::with_capacity(1);
        values.text(self.tables[0].as_str());
        let sql = self.versions.select.clone();
        let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let component = get_text::<D>(row, 0)?;
        if component != name {
            return Err(SqlError::mismatch(format!(
                "the table '{}' belongs to a {component}; give the {} a table of its own",
                self.tables[0].as_str(),
                name
            )));
        }
        let version = get_integer::<D>(row, 1)?;
        let version = match usize::try_from(version) {
            Ok(version) if version <= self.newest() => version,
            _ => {
                return Err(SqlError::mismatch(format!(
                    "the tables of the {} have version {version}, newer than version {} of this program; \
                     use a newer program",
                    name,
                    self.newest()
                )));
            }
        };
        let others = get_text::<D>(row, 2)?;
        if !self.are_other_tables(&others, version) {
            return Err(SqlError::mismatch(format!(
                "the table '{}' was made together with {others}, not with {}; use the same table names as then",
                self.tables[0].as_str(),
                self.other_tables()
            )));
        }
        Ok(Some(version))
    }

    /// Returns whether the tables of this program go with those that were noted: an older version may have fewer of them.
    fn are_other_tables(&self, noted: &str, version: usize) -> bool {
        let noted: Vec<_> = noted.split(", ").filter(|name| !name.is_empty()).collect();
        let others = &self.tables[1..];
        let is_same =
            |(table, name): (&TableName, &&str)| table.as_str().eq_ignore_ascii_case(name);
        let may_be_fewer = version < self.newest() && noted.len() < others.len();
        (noted.len() == others.len() || may_be_fewer) && others.iter().zip(&noted).all(is_same)
    }

    pub(super) async fn has_versions(
        &self,
        connection: &mut ConnectionOf<D>,
    ) -> Result<bool, SqlError> {
        let table = TableName::of_versions();
        self.table_exists(connection, &table).await
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
            self.component(),
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
