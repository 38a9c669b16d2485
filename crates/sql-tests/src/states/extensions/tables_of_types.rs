//! Tables of entity types, made by the statements that a person runs.

use actix_persistence_storage_api::{Roles, Section, StateExtensions};

use super::ENTITY_TYPE;
use crate::Tables;
use crate::states::{state, store};

/// The printed statements make the tables of entity types, too, and let the roles use them; `granted` does so where they do
/// not. The section is that of a store which may only use the tables.
///
/// # Panics
/// If a state is not stored there.
pub async fn the_printed_statements_make_the_tables_of_entity_types_too(
    tables: &dyn Tables,
    roles: Option<&Roles>,
    section: Section,
    granted: impl AsyncFnOnce(),
) {
    let mut extensions = StateExtensions::default();
    extensions.entity_type(ENTITY_TYPE).table = Some("test_state".to_owned());
    let section = section.with("auto-initialize", false);
    let script = tables
        .plugin()
        .state_store_schema(&section, &extensions, roles);
    let script = script.expect("the section has no mistake");
    tables.run(&script.expect("there are tables to make")).await;
    granted().await;
    let states = tables.state_store_with(section, &extensions).await;
    store(&*states, state("a", 1)).await;
    for (table, rows) in [("test_state", 1), ("durable_state", 0)] {
        let count = format!("SELECT COUNT(*) FROM {table}");
        assert_eq!(tables.number(&count).await, rows, "{table}");
    }
}
