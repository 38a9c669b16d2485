//! The values that a section may hold.

use actix_persistence_storage_api::{Origin, Section};

use super::*;

fn section() -> Section {
    Section::new("persistence.journal.a", Origin::code())
}

fn errors_of(section: &Section) -> String {
    let errors = SqliteOptions::of_section(section, &Pools::default()).unwrap_err();
    errors.to_string()
}

#[test]
fn an_empty_section_gives_the_defaults_and_they_are_valid() {
    let section = section();
    let options = SqliteOptions::of_section(&section, &Pools::default()).unwrap();
    assert_eq!(options, SqliteOptions::default());
    options.validate().unwrap();
    assert_eq!(options.synchronous, Synchronous::Full);
}

#[test]
fn every_key_is_read() {
    let section = section()
        .with("url", "sqlite://x.db")
        .with("auto-initialize", false)
        .with("busy-timeout", "250ms")
        .with("synchronous", "normal")
        .with("read-connections", 2)
        .with("max-log-bytes", "1MiB")
        .with("event-table", "e")
        .with("tag-table", "t")
        .with("metadata-table", "m")
        .with("snapshot-table", "s")
        .with("state-table", "d")
        .with("max-event-bytes", "2MiB")
        .with("max-snapshot-bytes", 77)
        .with("max-state-bytes", 78)
        .with("assert-single-writer", false)
        .with("max-group-events", 5)
        .with("max-group-bytes", "1KiB")
        .with("max-page-events", 6)
        .with("max-page-bytes", "2KiB")
        .with("delete-chunk-events", 7);
    let options = SqliteOptions::of_section(&section, &Pools::default()).unwrap();
    let expected = SqliteOptions::new("sqlite://x.db")
        .with_busy_timeout(Duration::from_millis(250))
        .with_synchronous(Synchronous::Normal)
        .with_read_connections(2)
        .with_max_log_bytes(1024 * 1024)
        .with_store(|store| {
            store
                .with_auto_initialize(false)
                .with_journal_tables("e", "t", "m")
                .with_snapshot_table("s")
                .with_state_table("d")
                .with_max_event_bytes(2 * 1024 * 1024)
                .with_max_snapshot_bytes(77)
                .with_max_state_bytes(78)
                .with_assert_single_writer(false)
                .with_max_group(5, 1024)
                .with_max_page(6, 2048)
                .with_delete_chunk_events(7)
        });
    assert_eq!(options, expected);
}

#[test]
fn reports_every_mistake_under_its_key() {
    let section = section()
        .with("url", "sqlite::memory:")
        .with("busy-timeout", "2h")
        .with("event-table", "x\"; DROP TABLE y; --")
        .with("tag-table", "twin")
        .with("metadata-table", "Twin")
        .with("snapshot-table", "State_Ordering")
        .with("state-table", "state")
        .with("max-event-bytes", "65MiB")
        .with("max-group-bytes", "257MiB")
        .with("max-page-bytes", 0)
        .with("max-log-bytes", "1KiB")
        .with("evnt-table", "x");
    let text = errors_of(&section);
    for part in [
        "'persistence.journal.a.url' must name a file",
        "'persistence.journal.a.busy-timeout' must be at most 1h",
        "'persistence.journal.a.event-table' must be",
        "'persistence.journal.a.metadata-table' must not be the same as 'tag-table'",
        "'persistence.journal.a.snapshot-table' must not be that of 'state-table' with '_ordering'",
        "'persistence.journal.a.max-event-bytes' must be from 1 byte to 64MiB",
        "'persistence.journal.a.max-group-bytes' must be at most 256MiB",
        "'persistence.journal.a.max-page-bytes' must be at least 1",
        "'persistence.journal.a.max-log-bytes' must be from 64KiB to 1TiB",
        "did you mean 'event-table'?",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn validates_what_the_program_sets_too() {
    let invalid = SqliteOptions::new("sqlite::memory:")
        .validate()
        .unwrap_err();
    assert_eq!(invalid.key, "url");
    let invalid = SqliteOptions::default()
        .with_read_connections(0)
        .validate()
        .unwrap_err();
    assert_eq!(
        invalid.to_string(),
        "'read-connections' must be from 1 to 64"
    );
}
