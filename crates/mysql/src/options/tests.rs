//! The meaning of a section, and the sections that are refused.

use actix_persistence_sql::Settings;
use actix_persistence_storage_api::{Origin, Section};

use super::*;

fn section() -> Section {
    Section::new("persistence.journal.bank", Origin::file("app.toml", 3))
}

#[test]
fn keys_of_a_section_become_options() {
    let section = section()
        .with("url", "mysql://teller:secret@db.example/bank")
        .with("durability", "server")
        .with("payload-column", "json")
        .with("counter-partitions", 16)
        .with("event-table", "events")
        .with("writers", 3);
    let options = MysqlOptions::of_section(&section, &Pools::default()).unwrap();
    assert_eq!(options.durability, Durability::Server);
    assert_eq!(options.payload_column, PayloadColumn::Json);
    assert_eq!(options.store.event_table, "events");
    assert_eq!(options.server.writers, 3);
    assert_eq!(options.counter_partitions, Some(16));
}

#[test]
fn mistakes_are_reported_together() {
    let section = section()
        .with("url", "postgres://teller@db.example/bank")
        .with("event-table", "a`b")
        .with("durability", "none");
    let errors = MysqlOptions::of_section(&section, &Pools::default()).unwrap_err();
    assert_eq!(errors.errors().len(), 3, "{errors}");
}

#[test]
fn the_slices_are_divided_by_a_power_of_two() {
    let section = section().with("url", "mysql://teller@db.example/bank");
    let options = MysqlOptions::of_section(&section, &Pools::default()).unwrap();
    assert_eq!(options.counter_partitions, None);
    for number in [0, 12, 128] {
        let section = section.clone().with("counter-partitions", number);
        let errors = MysqlOptions::of_section(&section, &Pools::default()).unwrap_err();
        assert!(
            errors.to_string().contains("counter-partitions"),
            "{errors}"
        );
    }
}

#[test]
fn no_table_may_be_the_one_that_numbers_events() {
    let section = section()
        .with("url", "mysql://teller@db.example/bank")
        .with("event-table", "events")
        .with("metadata-table", "Events_Ordering");
    let errors = MysqlOptions::of_section(&section, &Pools::default()).unwrap_err();
    assert!(errors.to_string().contains("metadata-table"), "{errors}");
}

#[test]
fn nothing_shows_the_password() {
    let options = MysqlOptions::new("mysql://teller:secret@db.example/bank");
    let shown = format!("{options:?}");
    assert!(!shown.contains("secret"), "{shown}");
}
