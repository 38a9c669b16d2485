//! The tables of the states of each entity type, and what belongs to them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeHandler, EntityExtensions, PersistenceId, StateExtensions,
};

use crate::schema::MoreColumn;
use crate::{Dialect, InvalidOption, Settings, StateStatements, TableName};

use super::columns::{Columns, plain_statements};
use super::state_table::StateTable;

/// The entity types that a store knows.
pub(super) struct Entities<D: Dialect> {
    /// The extensions of every type that has none of its own.
    default: Arc<Entity<D>>,
    by_type: HashMap<String, Arc<Entity<D>>>,
    /// Every table once: that of the store, then the others by name.
    tables: Vec<Arc<StateTable<D>>>,
}

/// The table and the extensions of an entity type.
pub(super) struct Entity<D: Dialect> {
    pub(super) table: Arc<StateTable<D>>,
    pub(super) columns: Columns<D>,
    /// The statements of changes that leave the columns as they are.
    pub(super) statements: Arc<StateStatements>,
    pub(super) handler: Option<Handler>,
}

/// A handler and how messages call it.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) code: Arc<dyn ChangeHandler>,
    pub(super) name: Arc<str>,
}

impl<D: Dialect> Entities<D> {
    /// # Errors
    /// If a name cannot be used.
    pub(super) fn new(
        options: &D::Options,
        extensions: &StateExtensions,
    ) -> Result<Self, InvalidOption> {
        let name = options.store().state_table()?;
        let default = Arc::new(StateTable::new(options, &name)?);
        let mut tables = BTreeMap::new();
        let mut by_type = HashMap::new();
        for (entity_type, extension) in &extensions.entity_types {
            let table = match &extension.table {
                None => Arc::clone(&default),
                Some(text) => {
                    let other = parse(options, entity_type, text)?;
                    if other.as_str().eq_ignore_ascii_case(name.as_str()) {
                        Arc::clone(&default)
                    } else {
                        let key = other.as_str().to_ascii_lowercase();
                        let known = tables.get(&key).map(Arc::clone);
                        let table = known
                            .map_or_else(|| StateTable::new(options, &other).map(Arc::new), Ok)?;
                        tables.insert(key, Arc::clone(&table));
                        table
                    }
                }
            };
            let entity = Arc::new(Entity::new(table, entity_type, extension)?);
            by_type.insert(entity_type.clone(), entity);
        }
        let nothing = EntityExtensions::default();
        Ok(Self {
            tables: std::iter::once(Arc::clone(&default))
                .chain(tables.into_values())
                .collect(),
            default: Arc::new(Entity::new(default, "", &nothing)?),
            by_type,
        })
    }

    /// Returns the entity of the type of an id.
    pub(super) fn of(&self, persistence_id: &PersistenceId) -> &Arc<Entity<D>> {
        self.of_type(persistence_id.entity_type())
    }

    /// Returns the entity of a type.
    pub(super) fn of_type(&self, entity_type: &str) -> &Arc<Entity<D>> {
        self.by_type.get(entity_type).unwrap_or(&self.default)
    }

    /// Returns every table once.
    pub(super) fn tables(&self) -> &[Arc<StateTable<D>>] {
        &self.tables
    }

    /// The table of each type that something belongs to.
    pub(super) fn with_tables(&self) -> impl Iterator<Item = (&str, &StateTable<D>)> {
        let entities = self.by_type.iter();
        entities.map(|(entity_type, entity)| (entity_type.as_str(), &*entity.table))
    }

    /// Returns whether code of the application runs as some states change.
    pub(super) fn have_handlers(&self) -> bool {
        self.by_type.values().any(|entity| entity.handler.is_some())
    }

    /// Returns the entity types that have additional columns.
    pub(super) fn with_columns(&self) -> impl Iterator<Item = &Arc<Entity<D>>> {
        self.by_type
            .values()
            .filter(|entity| !entity.columns.is_empty())
    }

    /// Returns the columns of a new table that the store may make, each once, by name.
    pub(super) fn columns_to_be_made(&self, table: &StateTable<D>) -> Vec<MoreColumn> {
        let entities = self.with_columns();
        let of_table = entities.filter(|entity| entity.table.name == table.name);
        let columns = of_table.flat_map(|entity| entity.columns.to_be_made(&[]));
        let by_name: BTreeMap<_, _> = columns
            .map(|column| (column.name.as_str().to_ascii_lowercase(), column))
            .collect();
        by_name.into_values().collect()
    }
}

impl<D: Dialect> Entity<D> {
    fn new(
        table: Arc<StateTable<D>>,
        entity_type: &str,
        extension: &EntityExtensions,
    ) -> Result<Self, InvalidOption> {
        let handler = extension.change_handler.as_ref().map(|code| Handler {
            code: Arc::clone(code),
            name: format!("the change handler of the entity type {entity_type:?}").into(),
        });
        let (statements, also_set) = match &handler {
            Some(_) if !D::TAKE_NUMBER.is_empty() => {
                let statements = plain_statements::<D>(table.names.clone(), D::TAKE_NUMBER);
                (Arc::new(statements), D::TAKE_NUMBER)
            }
            _ => (Arc::clone(&table.statements), ""),
        };
        Ok(Self {
            columns: Columns::new(&extension.columns, &table, also_set)
                .map_err(|invalid| invalid.at_entry(entity_type))?,
            statements,
            table,
            handler,
        })
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A table for an entity type must not be one that the stores use for something else.
fn parse<S: Settings>(
    options: &S,
    entity_type: &str,
    text: &str,
) -> Result<TableName, InvalidOption> {
    const KEY: &str = "custom-table";
    let of_type =
        |message: String| format!("of the entity type {entity_type:?}: '{text}' {message}");
    let refused = |message| InvalidOption::new(KEY, of_type(message)).at_entry(entity_type);
    let name = TableName::parse(text).map_err(refused)?;
    match options.store().other_use_of(&name) {
        None => Ok(name),
        Some(key) => Err(refused(format!("must not be the same as '{key}'"))),
    }
}
