//! What an application registers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use actix_persistence_storage_api::{
    ConfigError, ConfigErrors, Journal, Plugin, Section, SnapshotStore,
};

use crate::connection::{ConnectionSettings, Database};
use crate::{SqliteJournal, SqliteOptions, SqliteSnapshotStore};

/// Makes stores in SQLite files, each from a section with the keys of [`SqliteOptions`]; clones are the same plugin.
///
/// Stores on one file share its connections, so the file has one writer in this process.
/// For that they must agree on `busy-timeout`, `synchronous`, `read-connections` and the `mode` in the `url`.
#[derive(Clone, Debug, Default)]
pub struct SqlitePlugin {
    databases: Arc<Mutex<HashMap<PathBuf, Owner>>>,
}

/// The connections to one file, for as long as a store uses them.
#[derive(Debug)]
struct Owner {
    database: Weak<Database>,
    /// The section that came first.
    section: String,
}

impl SqlitePlugin {
    /// A plugin without any store.
    pub fn new() -> Self {
        Self::default()
    }

    fn database(
        &self,
        section: &Section,
        settings: ConnectionSettings,
    ) -> Result<Arc<Database>, ConfigErrors> {
        let mut databases = self
            .databases
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        databases.retain(|_, owner| owner.database.strong_count() > 0);
        let path = settings.location.path.clone();
        if let Some(owner) = databases.get(&path)
            && let Some(database) = owner.database.upgrade()
        {
            check_same(section, &settings, owner, database.settings())?;
            return Ok(database);
        }
        let database = Arc::new(Database::new(settings));
        let owner = Owner {
            database: Arc::downgrade(&database),
            section: section.path().to_owned(),
        };
        databases.insert(path, owner);
        Ok(database)
    }
}

impl Plugin for SqlitePlugin {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn journal(&self, section: &Section) -> Result<Arc<dyn Journal>, ConfigErrors> {
        let (options, settings) = read(section)?;
        let database = self.database(section, settings)?;
        let journal = SqliteJournal::on(database, options).map_err(|error| {
            mistake(
                section,
                error.key,
                format!("{} {}", quoted(section, error.key), error.message),
            )
        })?;
        Ok(Arc::new(journal))
    }

    fn snapshot_store(&self, section: &Section) -> Result<Arc<dyn SnapshotStore>, ConfigErrors> {
        let (options, settings) = read(section)?;
        let database = self.database(section, settings)?;
        let store = SqliteSnapshotStore::on(database, options).map_err(|error| {
            mistake(
                section,
                error.key,
                format!("{} {}", quoted(section, error.key), error.message),
            )
        })?;
        Ok(Arc::new(store))
    }
}

fn read(section: &Section) -> Result<(SqliteOptions, ConnectionSettings), ConfigErrors> {
    let mut reader = section.reader();
    let options = SqliteOptions::read(&mut reader);
    reader.finish()?;
    let settings = options.connection_settings().map_err(|error| {
        mistake(
            section,
            error.key,
            format!("{} {}", quoted(section, error.key), error.message),
        )
    })?;
    Ok((options, settings))
}

fn check_same(
    section: &Section,
    settings: &ConnectionSettings,
    owner: &Owner,
    other: &ConnectionSettings,
) -> Result<(), ConfigErrors> {
    let differences = [
        ("url", settings.location != other.location),
        ("busy-timeout", settings.busy_timeout != other.busy_timeout),
        ("synchronous", settings.synchronous != other.synchronous),
        (
            "read-connections",
            settings.read_connections != other.read_connections,
        ),
    ];
    let Some((key, _)) = differences.iter().find(|(_, differs)| *differs) else {
        return Ok(());
    };
    let message = format!(
        "{} differs from '{}.{key}', but both sections use the database {}; make them equal",
        quoted(section, key),
        owner.section,
        settings.location.path.display(),
    );
    Err(mistake(section, key, message))
}

fn mistake(section: &Section, key: &str, message: String) -> ConfigErrors {
    let origin = match section.get(key) {
        Some(item) => item.origin.clone(),
        None => section.origin().clone(),
    };
    ConfigErrors::one(ConfigError {
        origin,
        path: section.path_of(key),
        message,
    })
}

fn quoted(section: &Section, key: &str) -> String {
    format!("'{}'", section.path_of(key))
}
