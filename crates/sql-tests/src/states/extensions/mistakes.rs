//! Extensions that no store can have.

use actix_persistence_storage_api::{Plugin, Section, StateExtensions};

use super::NextValue;

/// Whatever cannot be the name of a table or a column is a mistake in the config, found before anything is opened.
///
/// # Panics
/// If one is not found, or not named.
pub fn mistakes_in_extensions_name_what_is_wrong(plugin: &dyn Plugin, section: &Section) {
    let with_table = |table: &str| {
        let mut extensions = StateExtensions::default();
        extensions.entity_type("Test").table = Some(table.to_owned());
        extensions
    };
    let mut twins = NextValue::of("title").extensions();
    let columns = &mut twins.entity_type("Test").columns;
    columns.extend(
        NextValue::of("TITLE")
            .extensions()
            .entity_type("Test")
            .columns
            .clone(),
    );
    for (extensions, key, says) in [
        (with_table("po\"st"), "custom-table", "'po\"st'"),
        (with_table("po`st"), "custom-table", "'po`st'"),
        (
            with_table(""),
            "custom-table",
            "of the entity type \"Test\"",
        ),
        (
            with_table("Event_Journal"),
            "custom-table",
            "must not be the same as 'event-table'",
        ),
        (
            with_table("journal_metadata"),
            "custom-table",
            "'metadata-table'",
        ),
        (
            NextValue::of("ti\"tle").extensions(),
            "additional-columns",
            "'ti\"tle'",
        ),
        (twins, "additional-columns", "have two columns 'TITLE'"),
        (
            NextValue::of("payload").extensions(),
            "additional-columns",
            "have a column 'payload', which is one of the store's own",
        ),
        (
            NextValue::of("Timestamp").extensions(),
            "additional-columns",
            "have a column 'Timestamp'",
        ),
    ] {
        let errors = plugin.state_store(section, &extensions);
        let Err(errors) = errors else {
            panic!("{extensions:?} should have been refused");
        };
        let text = errors.to_string();
        assert!(text.contains(&section.path_of(key)), "{text}");
        assert!(text.contains(says), "{text}");
        let errors = plugin.state_store_schema(section, &extensions, None);
        assert!(errors.is_err(), "{extensions:?} should have no schema");
    }
}
