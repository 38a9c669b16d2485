//! Extensions that no store can have.

use actix_persistence_storage_api::{Origin, Section, StateExtensions};

use super::NextValue;
use crate::{OnServer, Tables};

/// Whatever cannot be the name of a table or a column is a mistake in the config, found before anything is opened.
///
/// # Panics
/// If one is not found, or not named.
pub async fn mistakes_in_extensions_name_what_is_wrong(tables: &dyn Tables) {
    let (plugin, section) = (tables.plugin(), tables.section());
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
        let errors = plugin.state_store(&section, &extensions);
        let Err(errors) = errors else {
            panic!("{extensions:?} should have been refused");
        };
        let text = errors.to_string();
        assert!(text.contains(&section.path_of(key)), "{text}");
        assert!(text.contains(says), "{text}");
        let errors = plugin.state_store_schema(&section, &extensions, None);
        assert!(errors.is_err(), "{extensions:?} should have no schema");
    }
}

/// A handler may not take longer than others wait for its connection: for servers, where it has less time by itself.
///
/// # Panics
/// If the mistake is not found, or not named.
pub async fn a_handler_that_may_take_longer_than_others_wait_is_a_mistake(tables: &dyn OnServer) {
    let section = Section::new("persistence.state.a", Origin::file("app.toml", 3));
    let section = section.with("url", tables.url());
    let open = |section: &Section| {
        let none = StateExtensions::default();
        tables.plugin().state_store(section, &none).map(drop)
    };
    // Shorter by itself.
    assert!(open(&section.clone().with("acquire-timeout", "500ms")).is_ok());
    let errors = open(&section.with("handler-timeout", "2s"));
    let errors = errors.expect_err("others wait for two seconds").to_string();
    for says in [
        "'persistence.state.a.handler-timeout' is 2s",
        "'acquire-timeout'",
    ] {
        assert!(errors.contains(says), "{errors}");
    }
}
