//! The code and the columns that an application adds to a state store.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{AdditionalColumn, ChangeHandler, ConfigErrors, SchemaSteps, Section};

/// Tables, columns and handlers of one state store, by entity type, the tables of the application beside them, and the
/// journal of its changes.
///
/// Bound when the store is made. The entity type of an id is its text before the first `|`, as it is: nothing in it is a
/// pattern.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StateExtensions {
    /// The extensions by entity type.
    pub entity_types: BTreeMap<String, EntityExtensions>,
    /// The section of the journal that gets an event with every change, in the same transaction: it must be in the same
    /// database.
    pub change_event_journal: Option<Section>,
    /// The steps that make the application's own tables; no two have one name.
    pub schema_steps: Vec<SchemaSteps>,
}

/// The table, the columns and the handler of one entity type.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct EntityExtensions {
    /// The table of its states, in the place of that of the store.
    pub table: Option<String>,
    /// Columns beside its states; no two have one name.
    pub columns: Vec<Arc<dyn AdditionalColumn>>,
    /// The handler that runs in the transaction of each change.
    pub change_handler: Option<Arc<dyn ChangeHandler>>,
}

impl StateExtensions {
    /// Returns whether there is nothing that a store must know of.
    pub fn is_empty(&self) -> bool {
        let mut types = self.entity_types.values();
        self.change_event_journal.is_none()
            && self.schema_steps.is_empty()
            && types.all(EntityExtensions::is_empty)
    }

    /// Fails if there is anything that only a store in an SQL database can have.
    ///
    /// # Errors
    /// An error about the section that names the kind of the plugin, and the schema steps if there are any.
    pub fn check_without_sql(&self, section: &Section, kind: &str) -> Result<(), ConfigErrors> {
        if self.is_empty() {
            return Ok(());
        }
        let names = self.schema_steps.iter();
        let names: Vec<_> = names.map(|steps| format!("'{}'", steps.name())).collect();
        let has = if names.is_empty() {
            "additional columns, a table by entity type, a change handler or change events"
                .to_owned()
        } else {
            format!("the schema steps {}", names.join(", "))
        };
        let message = format!("has {has}, which the plugin kind '{kind}' has not");
        Err(ConfigErrors::of_section(section, &message))
    }

    /// Returns the extensions of an entity type; adds empty ones if there are none yet.
    pub fn entity_type(&mut self, entity_type: &str) -> &mut EntityExtensions {
        self.entity_types.entry(entity_type.to_owned()).or_default()
    }
}

impl EntityExtensions {
    /// Returns whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.table.is_none() && self.columns.is_empty() && self.change_handler.is_none()
    }
}

/// Shows names: code has no content to show.
impl fmt::Debug for EntityExtensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.columns.iter().map(|column| column.column_name());
        f.debug_struct("EntityExtensions")
            .field("table", &self.table)
            .field("columns", &columns.collect::<Vec<_>>())
            .field("has_change_handler", &self.change_handler.is_some())
            .finish()
    }
}
