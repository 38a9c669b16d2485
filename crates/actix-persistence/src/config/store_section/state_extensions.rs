//! The keys of a state store that say by entity type what it has beside its states.

use std::sync::Arc;

use actix_persistence_storage_api::{AdditionalColumn, SectionReader, StateExtensions, Value};

use super::super::named_code::NamedCode;
use super::super::unknown_name::unknown_name;
use super::not_registered;

/// The key of the section with the additional columns.
pub(super) const COLUMNS: &str = "additional-columns";
/// The key of the section with the tables.
pub(super) const TABLE: &str = "custom-table";
/// The key of the section with the change handlers.
pub(super) const HANDLER: &str = "change-handler";

/// Reads the tables; each section within the section of a state store has a key for every entity type it says something of.
pub(super) fn read_tables(extensions: &mut StateExtensions, store: &mut SectionReader<'_>) {
    for_each_type(store, TABLE, |reader, entity_type, _| {
        let table = reader.string(entity_type);
        if table.as_deref() == Some("") {
            reader.reject(entity_type, "must name a table");
            return;
        }
        extensions.entity_type(entity_type).table = table;
    });
}

/// Reads the additional columns.
pub(super) fn read_columns(
    extensions: &mut StateExtensions,
    store: &mut SectionReader<'_>,
    code: &NamedCode,
) {
    for_each_type(store, COLUMNS, |reader, entity_type, value| {
        // A single one may stand without a list, as in Akka.
        let names = match value {
            Value::List(_) => reader.strings(entity_type),
            _ => reader.string(entity_type).into_iter().collect(),
        };
        let columns = columns_of(reader, entity_type, names, code);
        extensions.entity_type(entity_type).columns = columns;
    });
}

/// Reads the change handlers.
pub(super) fn read_handlers(
    extensions: &mut StateExtensions,
    store: &mut SectionReader<'_>,
    code: &NamedCode,
) {
    for_each_type(store, HANDLER, |reader, entity_type, _| {
        let Some(name) = reader.string(entity_type) else {
            return;
        };
        let handler = code.change_handlers.get(&name).cloned();
        if handler.is_none() && !code.may_lack_extensions {
            let known: Vec<_> = code.change_handlers.keys().map(String::as_str).collect();
            let message = unknown_name("change handler", &name, &known);
            reader.reject(
                entity_type,
                not_registered(message, "Builder::change_handler"),
            );
        }
        extensions.entity_type(entity_type).change_handler = handler;
    });
}

fn for_each_type(
    store: &mut SectionReader<'_>,
    key: &str,
    mut read: impl FnMut(&mut SectionReader<'_>, &str, &Value),
) {
    let Some(section) = store.section(key) else {
        return;
    };
    let mut reader = section.reader();
    for (entity_type, item) in section.iter() {
        // Still read, so that it is known.
        read(&mut reader, entity_type, &item.value);
        if entity_type.contains('|') {
            reader.reject(entity_type, "names an entity type with a '|', which none has; it is what stands before the first one of an id");
        }
    }
    store.absorb(reader.finish());
}

fn columns_of(
    reader: &mut SectionReader<'_>,
    entity_type: &str,
    names: Vec<String>,
    code: &NamedCode,
) -> Vec<Arc<dyn AdditionalColumn>> {
    let mut columns: Vec<Arc<dyn AdditionalColumn>> = Vec::new();
    for name in names {
        let Some(column) = code.columns.get(&name) else {
            if code.may_lack_extensions {
                continue;
            }
            let known: Vec<_> = code.columns.keys().map(String::as_str).collect();
            let message = unknown_name("additional column", &name, &known);
            reader.reject(
                entity_type,
                not_registered(message, "Builder::additional_column"),
            );
            continue;
        };
        let its_name = column.column_name();
        if columns.iter().any(|other| other.column_name() == its_name) {
            reader.reject(
                entity_type,
                format!("names two columns '{its_name}'; leave one of them out"),
            );
            continue;
        }
        columns.push(column.clone());
    }
    columns
}
