//! The tables and their versions.

use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{Row, SqlStr, SqliteConnection};

use crate::error::Fault;
use crate::queries::{
    CREATE_VERSION_TABLE, JournalTables, SELECT_VERSION, SET_VERSION, TABLE_EXISTS, TableName,
    VERSION_TABLE, with_names,
};

/// The tables of one kind of store, and the steps that make them.
///
/// Journal and snapshot store have versions of their own, one for each set of names: a file may hold several.
#[derive(Debug)]
pub(crate) struct Component {
    /// What it is, as the version table says.
    name: &'static str,
    /// The first names the row of the version table.
    tables: Vec<TableName>,
    /// Step `n` makes version `n + 1` of version `n`; what is released never changes.
    migrations: Vec<SqlStr>,
}

const JOURNAL: [&str; 1] = [include_str!("../migrations/0001_journal.sql")];
const SNAPSHOT_STORE: [&str; 1] = [include_str!("../migrations/0001_snapshot_store.sql")];

impl Component {
    pub(crate) fn journal(tables: &JournalTables) -> Self {
        let names = [
            ("event_table", &tables.events),
            ("tag_table", &tables.tags),
            ("metadata_table", &tables.metadata),
            ("tag_index", &tables.tags.index("ordering")),
            ("unpurged_index", &tables.metadata.index("unpurged")),
        ];
        Self {
            name: "journal",
            migrations: JOURNAL.map(|text| with_names(text, &names)).to_vec(),
            tables: vec![
                tables.events.clone(),
                tables.tags.clone(),
                tables.metadata.clone(),
            ],
        }
    }

    pub(crate) fn snapshot_store(table: &TableName) -> Self {
        let names = [("snapshot_table", table)];
        Self {
            name: "snapshot store",
            migrations: SNAPSHOT_STORE.map(|text| with_names(text, &names)).to_vec(),
            tables: vec![table.clone()],
        }
    }

    /// Whether the tables are there, in the version of this crate.
    ///
    /// # Errors
    /// If they are newer, incomplete, or somebody else's.
    pub(crate) async fn is_current(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<bool, Fault> {
        Ok(self.version(connection).await? == self.newest())
    }

    /// Whether missing or older tables may be made; only then is there anything to write.
    pub(crate) fn check_may_be_made(&self, auto_initialize: bool) -> Result<(), Fault> {
        if auto_initialize {
            return Ok(());
        }
        Err(mismatch(format!(
            "the tables of the {} are missing or older than version {}; set 'auto-initialize = true' once",
            self.name,
            self.newest()
        )))
    }

    /// Makes what is missing; within a transaction that holds the write lock.
    pub(crate) async fn bring_up_to_date(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<(), Fault> {
        let version = self.version(connection).await?;
        if version == self.newest() {
            return Ok(());
        }
        sqlx::query(CREATE_VERSION_TABLE)
            .execute(&mut *connection)
            .await?;
        for migration in &self.migrations[version..] {
            sqlx::raw_sql(migration.clone())
                .execute(&mut *connection)
                .await?;
        }
        sqlx::query(SET_VERSION)
            .bind(self.tables[0].as_str())
            .bind(self.name)
            .bind(self.newest() as i64)
            .bind(self.other_tables())
            .execute(&mut *connection)
            .await?;
        Ok(())
    }

    /// The tables that belong to the first one. The version table keeps them: with another metadata table beside the
    /// same events, epochs and deleted numbers would start again.
    fn other_tables(&self) -> String {
        let names: Vec<_> = self.tables[1..].iter().map(TableName::as_str).collect();
        names.join(", ")
    }

    fn newest(&self) -> usize {
        self.migrations.len()
    }

    /// The version of the tables, 0 if there are none.
    async fn version(&self, connection: &mut SqliteConnection) -> Result<usize, Fault> {
        let version = self.noted_version(connection).await?;
        for table in &self.tables {
            let exists = table_exists(connection, table.as_str()).await?;
            let table = table.as_str();
            if version == 0 && exists {
                return Err(mismatch(format!(
                    "there is a table '{table}' that the {} did not make; choose other table names, or another file",
                    self.name
                )));
            }
            if version > 0 && !exists {
                return Err(mismatch(format!(
                    "the table '{table}' is missing, although the {} with the table '{}' was made; \
                     use the same table names as then, or restore a backup",
                    self.name,
                    self.tables[0].as_str()
                )));
            }
        }
        Ok(version)
    }

    async fn noted_version(&self, connection: &mut SqliteConnection) -> Result<usize, Fault> {
        if !table_exists(connection, VERSION_TABLE).await? {
            return Ok(0);
        }
        let row = sqlx::query(SELECT_VERSION)
            .bind(self.tables[0].as_str())
            .bind(self.other_tables())
            .fetch_optional(connection)
            .await?;
        let Some(row) = row else { return Ok(0) };
        let (component, version): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
        if component != self.name {
            return Err(mismatch(format!(
                "the table '{}' belongs to a {component}; give the {} a table of its own",
                self.tables[0].as_str(),
                self.name
            )));
        }
        let (others, same): (String, bool) = (row.try_get(2)?, row.try_get(3)?);
        if !same {
            return Err(mismatch(format!(
                "the table '{}' was made together with {others}, not with {}; use the same table names as then",
                self.tables[0].as_str(),
                self.other_tables()
            )));
        }
        match usize::try_from(version) {
            Ok(version) if (1..=self.newest()).contains(&version) => Ok(version),
            _ => Err(mismatch(format!(
                "the tables of the {} have version {version}, newer than version {} of this program; \
                 use a newer program",
                self.name,
                self.newest()
            ))),
        }
    }
}

async fn table_exists(connection: &mut SqliteConnection, table: &str) -> Result<bool, Fault> {
    let exists = sqlx::query_scalar(TABLE_EXISTS)
        .bind(table)
        .fetch_one(connection)
        .await?;
    Ok(exists)
}

fn mismatch(message: String) -> Fault {
    Fault::refused(StorageErrorKind::SchemaMismatch, message)
}

#[cfg(test)]
mod tests;
