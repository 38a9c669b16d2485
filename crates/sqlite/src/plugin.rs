//! What an application registers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use actix_persistence_storage_api::{
    ConfigError, ConfigErrors, Journal, Plugin, Section, SnapshotStore,
};

use crate::connection::{ConnectionSettings, Database};
use crate::{InvalidSqliteOption, SqliteJournal, SqliteOptions, SqliteSnapshotStore};

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
        let journal =
            SqliteJournal::on(database, options).map_err(|invalid| rejected(section, invalid))?;
        Ok(Arc::new(journal))
    }

    fn snapshot_store(&self, section: &Section) -> Result<Arc<dyn SnapshotStore>, ConfigErrors> {
        let (options, settings) = read(section)?;
        let database = self.database(section, settings)?;
        let store = SqliteSnapshotStore::on(database, options)
            .map_err(|invalid| rejected(section, invalid))?;
        Ok(Arc::new(store))
    }
}

fn read(section: &Section) -> Result<(SqliteOptions, ConnectionSettings), ConfigErrors> {
    let mut reader = section.reader();
    let options = SqliteOptions::read(&mut reader);
    reader.finish()?;
    let settings = options
        .connection_settings()
        .map_err(|invalid| rejected(section, invalid))?;
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

fn rejected(section: &Section, invalid: InvalidSqliteOption) -> ConfigErrors {
    let message = format!("{} {}", quoted(section, invalid.key), invalid.message);
    mistake(section, invalid.key, message)
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

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::Origin;

    use super::*;

    fn section(store: &str, url: &str) -> Section {
        Section::new(format!("persistence.{store}"), Origin::file("app.toml", 3)).with("url", url)
    }

    fn databases(plugin: &SqlitePlugin) -> usize {
        let databases = plugin.databases.lock().unwrap();
        let owners = databases.values();
        owners
            .filter(|owner| owner.database.strong_count() > 0)
            .count()
    }

    #[test]
    fn stores_on_one_file_share_their_connections_however_the_url_is_spelt() {
        let plugin = SqlitePlugin::new();
        let journal = plugin.journal(&section("journal.a", "sqlite://plugin.db"));
        let store = plugin.snapshot_store(&section("snapshot-store.a", "./plugin.db"));
        assert_eq!(databases(&plugin), 1);
        let other = plugin.clone().journal(&section("journal.b", "other.db"));
        assert_eq!(databases(&plugin), 2);
        drop((journal, store, other));
        assert_eq!(databases(&plugin), 0);
    }

    #[test]
    fn different_connection_settings_for_one_file_are_a_mistake_that_names_both_sections() {
        let plugin = SqlitePlugin::new();
        let journal = plugin.journal(&section("journal.a", "plugin.db"));
        let other = section("snapshot-store.b", "plugin.db").with("busy-timeout", "1s");
        let errors = plugin.snapshot_store(&other).err().unwrap();
        let text = errors.to_string();
        assert!(
            text.contains("'persistence.snapshot-store.b.busy-timeout' differs from"),
            "{text}"
        );
        assert!(
            text.contains("'persistence.journal.a.busy-timeout'"),
            "{text}"
        );
        // Nothing of the first one is left after it was dropped.
        drop(journal);
        assert!(plugin.snapshot_store(&other).is_ok());
    }

    #[test]
    fn settings_of_one_store_may_differ() {
        let plugin = SqlitePlugin::new();
        let _journal = plugin.journal(&section("journal.a", "plugin.db")).unwrap();
        let other = section("journal.b", "plugin.db")
            .with("event-table", "other_events")
            .with("auto-initialize", false);
        assert!(plugin.journal(&other).is_ok());
    }

    #[test]
    fn mistakes_are_reported_at_once_and_open_nothing() {
        let plugin = SqlitePlugin::new();
        let section = section("journal.a", "sqlite::memory:")
            .with("event-table", "a b")
            .with("event_table", "c");
        let errors = plugin.journal(&section).err().unwrap();
        assert_eq!(errors.errors().len(), 3, "{errors}");
        assert_eq!(databases(&plugin), 0);
    }
}
