//! Places where no store can be opened, and what the error says of them.

use std::net::TcpListener;

use actix_persistence_storage_api::{Section, StateExtensions, StorageError, StorageErrorKind};

use crate::steps::{assert_error, chain, id, store};
use crate::{OnServer, Tables};

/// Returns why the journal of a section is not initialised.
pub async fn refusal(place: &dyn Tables, section: Section) -> StorageError {
    let initialized = place.new_journal(section).initialize().await;
    let error = initialized.expect_err("there is no place for a journal");
    assert!(error.is_not_stored(), "{error}");
    error
}

/// Returns the section for the user who may only log in, with the last appearance of one part of the URL replaced.
fn altered(place: &dyn OnServer, from: &str, to: &str) -> Section {
    let mut url = place.application_url();
    let start = url.rfind(from).expect("the part is there");
    url.replace_range(start..start + from.len(), to);
    place.section().with("url", url)
}

/// The password is that of somebody else.
pub async fn a_wrong_password_is_named_and_never_shown(place: &dyn OnServer) {
    let section = altered(place, &format!(":{}@", place.name()), ":hunter2@");
    let shown = format!("{section:?}");
    let error = refusal(place, section).await;
    let says = "check user and password";
    assert_error(&error, StorageErrorKind::AccessDenied, says);
    for text in [shown, chain(&error), format!("{error:?}")] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

/// The database is not there.
pub async fn a_database_that_does_not_exist_is_named(place: &dyn OnServer) {
    let mut url = place.url();
    let start = url.rfind(place.name()).expect("the name is in the URL");
    url.replace_range(start..start + place.name().len(), "no_such_database");
    let error = refusal(place, place.section().with("url", url)).await;
    assert_error(&error, StorageErrorKind::AccessDenied, "no such database");
    assert!(error.to_string().contains("/no_such_database"), "{error}");
}

/// A connection that stores share has just died when the next one of them is initialised.
pub async fn a_session_that_has_ended_is_no_error_of_the_next_store(place: &dyn OnServer) {
    let (plugin, section) = (place.plugin(), place.section());
    let states = || plugin.state_store(&section, &StateExtensions::default());
    let before = states().expect("the section is right");
    before.initialize().await.expect("it makes its tables");
    place.end_sessions().await;
    let next = states().expect("the section is right");
    next.initialize().await.expect("its tables are there");
}

/// Returns the section of stores on a server that would have this port of the machine.
fn at(place: &dyn OnServer, listener: &TcpListener) -> (Section, String) {
    let port = listener.local_addr().expect("it has an address").port();
    let url = place.url();
    let (scheme, _) = url.split_once("://").expect("a URL has a scheme");
    let url = format!("{scheme}://me:hunter2@127.0.0.1:{port}/bank");
    (place.section().with("url", url), port.to_string())
}

/// A port on which no program listens.
pub async fn no_server_is_trouble_that_waiting_may_cure(place: &dyn OnServer) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let (section, port) = at(place, &listener);
    drop(listener);
    let error = refusal(place, section).await;
    assert_error(&error, StorageErrorKind::Unavailable, "check host and port");
    assert!(error.to_string().contains(&port), "{error}");
    assert!(!chain(&error).contains("hunter2"));
}

/// A port on which nothing is answered.
pub async fn a_server_that_accepts_and_says_nothing_is_given_up_in_time(place: &dyn OnServer) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let (section, _) = at(place, &listener);
    let error = refusal(place, section.with("connect-timeout", "50ms")).await;
    assert_error(&error, StorageErrorKind::Unavailable, "'connect-timeout'");
}

/// Tables that were made for bytes, and stores for JSON.
pub async fn the_column_of_payloads_is_chosen_when_the_tables_are_made(place: &dyn OnServer) {
    place.journal().await;
    place.snapshot_store().await;
    let json = place.section().with("payload-column", "json");
    let error = refusal(place, json.clone()).await;
    assert_error(&error, StorageErrorKind::SchemaMismatch, "'payload-column'");
    let error = place.new_snapshot_store(json).initialize().await;
    let error = error.expect_err("its tables hold bytes");
    assert_error(&error, StorageErrorKind::SchemaMismatch, "'payload-column'");
}

/// Stores that may make nothing, before there are tables and afterwards; `made` counts what they would have made.
pub async fn without_auto_initialize_nothing_is_made(
    place: &dyn Tables,
    section: Section,
    made: &str,
) {
    let forbidden = section.clone().with("auto-initialize", false);
    let says = "'auto-initialize = true'";
    let error = refusal(place, forbidden.clone()).await;
    assert_error(&error, StorageErrorKind::SchemaMismatch, says);
    let snapshots = place.new_snapshot_store(forbidden.clone());
    let error = snapshots.initialize().await;
    let error = error.expect_err("it has no tables");
    assert_error(&error, StorageErrorKind::SchemaMismatch, says);
    assert_eq!(place.number(made).await, 0);

    // Once somebody made the tables, it works.
    place.journal_with(section).await;
    let journal = place.journal_with(forbidden).await;
    store(&*journal, &id("a"), 1).await;
}
