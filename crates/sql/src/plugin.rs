//! The plugin, which an application registers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use actix_persistence_storage_api::{
    ConfigError, ConfigErrors, Journal, OffsetStore, Origin, Plugin, Roles, Section, SnapshotStore,
    StateExtensions, StateStore,
};

use crate::connection::Connections;
use crate::{
    Connector, Dialect, InvalidOption, Settings, SqlJournal, SqlOffsetStore, SqlSnapshotStore,
    SqlStateStore,
};

/// The values of the program, such as connection pools, to which sections of a plugin may refer by name.
type ResourcesOf<D> = <<D as Dialect>::Options as Settings>::Resources;

/// The parts of which a store is made for its section.
type Opened<D> = (
    <D as Dialect>::Options,
    Arc<Connections<<D as Dialect>::Connector>>,
);

/// Makes stores in databases of one kind, each from a section with the keys of its options; clones are the same plugin.
///
/// Stores on one database share its connections, so they must agree on how those are opened.
#[derive(Debug)]
pub struct SqlPlugin<D: Dialect> {
    owners: Arc<Mutex<HashMap<String, Owner<D>>>>,
    resources: ResourcesOf<D>,
}

/// The connections to one database, for as long as a store uses them.
#[derive(Debug)]
struct Owner<D: Dialect> {
    connections: Weak<Connections<D::Connector>>,
    /// The section that came first.
    section: String,
}

impl<D: Dialect> Clone for SqlPlugin<D> {
    fn clone(&self) -> Self {
        Self {
            owners: Arc::clone(&self.owners),
            resources: self.resources.clone(),
        }
    }
}

impl<D: Dialect> Default for SqlPlugin<D> {
    fn default() -> Self {
        Self::with_resources(ResourcesOf::<D>::default())
    }
}

impl<D: Dialect> SqlPlugin<D> {
    /// Makes a plugin without any store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a plugin whose sections may refer to these resources by their names.
    pub fn with_resources(resources: ResourcesOf<D>) -> Self {
        Self {
            owners: Arc::default(),
            resources,
        }
    }

    /// Returns the number of databases that its stores use now; on PostgreSQL each schema of one counts.
    pub fn databases(&self) -> usize {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let used = owners
            .values()
            .filter(|owner| owner.connections.strong_count() > 0);
        used.count()
    }

    fn connections(
        &self,
        section: &Section,
        connector: D::Connector,
    ) -> Result<Arc<Connections<D::Connector>>, ConfigErrors> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|_, owner| owner.connections.strong_count() > 0);
        let shared_as = connector.shared_as();
        if let Some(owner) = owners.get(&shared_as)
            && let Some(connections) = owner.connections.upgrade()
        {
            check_same(section, &connector, owner, connections.connector())?;
            return Ok(connections);
        }
        let connections = Arc::new(Connections::new(connector));
        let owner = Owner {
            connections: Arc::downgrade(&connections),
            section: section.path().to_owned(),
        };
        owners.insert(shared_as, owner);
        Ok(connections)
    }

    fn read(&self, section: &Section) -> Result<Opened<D>, ConfigErrors> {
        let options = D::Options::of_section(section, &self.resources)?;
        let connector = D::connector(&options).map_err(|invalid| rejected(section, invalid))?;
        let connections = self.connections(section, connector)?;
        Ok((options, connections))
    }
}

impl<D: Dialect> Plugin for SqlPlugin<D> {
    fn name(&self) -> &'static str {
        D::NAME
    }

    fn without_making(&self, section: &Section) -> Section {
        section.clone().with("auto-initialize", false)
    }

    fn journal(&self, section: &Section) -> Result<Arc<dyn Journal>, ConfigErrors> {
        let (options, connections) = self.read(section)?;
        let journal = SqlJournal::<D>::on(connections, options)
            .map_err(|invalid| rejected(section, invalid))?;
        Ok(Arc::new(journal))
    }

    fn snapshot_store(&self, section: &Section) -> Result<Arc<dyn SnapshotStore>, ConfigErrors> {
        let (options, connections) = self.read(section)?;
        let store = SqlSnapshotStore::<D>::on(connections, options)
            .map_err(|invalid| rejected(section, invalid))?;
        Ok(Arc::new(store))
    }

    fn state_store(
        &self,
        section: &Section,
        extensions: &StateExtensions,
    ) -> Result<Arc<dyn StateStore>, ConfigErrors> {
        let (options, connections) = self.read(section)?;
        let mut store = SqlStateStore::<D>::on(connections, options, extensions)
            .map_err(|invalid| rejected(section, invalid))?;
        if let Some(journal) = &extensions.change_event_journal {
            let options = D::Options::of_section(journal, &self.resources)?;
            store = store
                .with_change_event_journal(options)
                .map_err(|invalid| rejected(section, invalid))?;
        }
        Ok(Arc::new(store))
    }

    fn offset_store(&self, section: &Section) -> Result<Arc<dyn OffsetStore>, ConfigErrors> {
        let (options, connections) = self.read(section)?;
        let store = SqlOffsetStore::<D>::on(connections, options)
            .map_err(|invalid| rejected(section, invalid))?;
        Ok(Arc::new(store))
    }

    fn journal_schema(
        &self,
        section: &Section,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        let options = D::Options::of_section(section, &self.resources)?;
        let journal =
            SqlJournal::<D>::new(options).map_err(|invalid| rejected(section, invalid))?;
        let sql = journal.schema_sql(roles);
        sql.map(Some)
            .map_err(|message| without_key(section, message))
    }

    fn snapshot_store_schema(
        &self,
        section: &Section,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        let options = D::Options::of_section(section, &self.resources)?;
        let store =
            SqlSnapshotStore::<D>::new(options).map_err(|invalid| rejected(section, invalid))?;
        let sql = store.schema_sql(roles);
        sql.map(Some)
            .map_err(|message| without_key(section, message))
    }

    fn state_store_schema(
        &self,
        section: &Section,
        extensions: &StateExtensions,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        let options = D::Options::of_section(section, &self.resources)?;
        let store = SqlStateStore::<D>::with_extensions(options, extensions)
            .map_err(|invalid| rejected(section, invalid))?;
        let sql = store.schema_sql(roles);
        sql.map(Some)
            .map_err(|message| without_key(section, message))
    }

    fn offset_store_schema(
        &self,
        section: &Section,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        let options = D::Options::of_section(section, &self.resources)?;
        let store =
            SqlOffsetStore::<D>::new(options).map_err(|invalid| rejected(section, invalid))?;
        let sql = store.schema_sql(roles);
        sql.map(Some)
            .map_err(|message| without_key(section, message))
    }
}

fn without_key(section: &Section, message: String) -> ConfigErrors {
    let path = section.path();
    ConfigErrors::one(ConfigError {
        origin: section.origin().clone(),
        path: path.to_owned(),
        message: format!("'{path}': {message}"),
    })
}

fn check_same<D: Dialect>(
    section: &Section,
    connector: &D::Connector,
    owner: &Owner<D>,
    other: &D::Connector,
) -> Result<(), ConfigErrors> {
    let Some(key) = connector.conflicting_option(other) else {
        return Ok(());
    };
    let message = format!(
        "{} differs from '{}.{key}', but both sections use the database {}; make them equal",
        quoted(section, key),
        owner.section,
        connector.endpoint(),
    );
    Err(mistake(section, key, message))
}

fn rejected(section: &Section, invalid: InvalidOption) -> ConfigErrors {
    if invalid.key.is_empty() {
        return without_key(section, invalid.message);
    }
    let message = format!("{} {}", quoted(section, invalid.key), invalid.message);
    let path = section.path_of(invalid.key);
    ConfigErrors::one(ConfigError {
        origin: origin_of(section, invalid.key),
        path: match invalid.entry {
            Some(entry) => format!("{path}.{entry}"),
            None => path,
        },
        message,
    })
}

fn mistake(section: &Section, key: &str, message: String) -> ConfigErrors {
    ConfigErrors::one(ConfigError {
        origin: origin_of(section, key),
        path: section.path_of(key),
        message,
    })
}

/// Returns the place of a key, or of the section without it.
fn origin_of(section: &Section, key: &str) -> Origin {
    match section.get(key) {
        Some(item) => item.origin.clone(),
        None => section.origin().clone(),
    }
}

fn quoted(section: &Section, key: &str) -> String {
    format!("'{}'", section.path_of(key))
}
