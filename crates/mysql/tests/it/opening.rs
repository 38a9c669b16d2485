//! The tables that initialising makes, checks and refuses.

use actix_persistence_mysql::{Durability, MysqlJournal, MysqlOptions};
use actix_persistence_sql_tests::Tables;
use actix_persistence_sql_tests::journal::opening;
use actix_persistence_sql_tests::logs;
use actix_persistence_storage_api::{
    EventDeletion, Journal, Roles, StorageError, StorageErrorKind,
};
use actix_persistence_test_servers::{Database, Server};

use crate::database::{connect, execute, users};
use crate::place::{Place, assert_error, chain, id, numbers, store};

async fn refusal(options: MysqlOptions) -> StorageError {
    let journal = MysqlJournal::new(options).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert!(error.is_not_stored(), "{error}");
    error
}

actix_persistence_sql_tests::test_opening!(server Place::new().await);

#[tokio::test]
async fn without_auto_initialize_nothing_is_made() {
    let place = Place::new().await;
    let made = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()";
    opening::without_auto_initialize_nothing_is_made(&place, place.section(), made).await;
}

/// The server of the tests knows no encryption.
#[tokio::test]
async fn encryption_that_is_required_is_never_done_without() {
    let place = Place::new().await;
    for mode in ["require", "verify-ca", "verify-full"] {
        let url = format!("{}?sslmode={mode}", place.database.url());
        let error = refusal(MysqlOptions::new(url)).await;
        assert_error(&error, StorageErrorKind::AccessDenied, "begin with 'tls'");
    }
}

#[tokio::test]
async fn a_user_without_a_privilege_learns_which_one_is_missing() {
    let place = Place::new().await;
    let name = place.database.name();
    let mut owner = place.connection().await;
    for user in users(name) {
        execute(&mut owner, format!("GRANT SELECT ON {name}.* TO {user}")).await;
    }
    let options = MysqlOptions::new(place.database.application_url())
        .with_store(|store| store.with_auto_initialize(true));
    let error = refusal(options.clone()).await;
    assert_error(&error, StorageErrorKind::AccessDenied, "lacks a privilege");

    let journal = MysqlJournal::new(place.options()).unwrap();
    let roles = Roles {
        owner: "nobody_in_particular".to_owned(),
        application: name.to_owned(),
    };
    place.run(journal.schema_sql(Some(&roles)).unwrap()).await;
    // The printed statements are for accounts of anywhere; here the server may prefer those of this machine.
    place.database.grant_all().await;
    for user in users(name) {
        let revoked = format!("REVOKE INSERT ON {name}.event_journal FROM {user}");
        execute(&mut owner, revoked).await;
    }
    let error = refusal(options.clone()).await;
    assert_error(&error, StorageErrorKind::AccessDenied, "lacks a privilege");
    assert!(chain(&error).contains("event_journal"), "{}", chain(&error));

    place.database.grant_all().await;
    let journal = place.journal_with(options).await;
    store(&journal, &id("a"), 2).await;
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2]);
    let mut application = connect(&place.database.application_url()).await;
    let drop = sqlx::query("DROP TABLE event_journal").execute(&mut application);
    assert!(drop.await.is_err(), "the application could drop a table");
}

#[tokio::test]
async fn the_same_store_initializes_as_soon_as_the_cause_of_a_failure_is_gone() {
    let place = Place::new().await;
    let later = format!("{}_later", place.database.name());
    let url = place
        .database
        .url()
        .replace(&format!("/{}", place.database.name()), &format!("/{later}"));
    let options = MysqlOptions::new(url).with_store(|store| store.with_auto_initialize(true));
    let journal = MysqlJournal::new(options).unwrap();
    journal.initialize().await.unwrap_err();
    place.run(format!("CREATE DATABASE {later}")).await;
    let initialized = journal.initialize().await;
    if initialized.is_ok() {
        store(&journal, &id("a"), 1).await;
    }
    place.run(format!("DROP DATABASE {later}")).await;
    initialized.unwrap();
}

/// On one thread, of which this is the log.
#[tokio::test]
async fn a_server_that_shows_commits_early_is_warned_of_once() {
    let place = Place::new().await;
    let has_binary_log = place.number("SELECT CAST(@@log_bin AS SIGNED)").await != 0;
    logs::listen();
    let journal = place.journal().await;
    journal.initialize().await.unwrap();
    store(&journal, &id("a"), 1).await;
    let text = logs::logged();
    let warnings = text
        .matches("shows commits before they are on its disk")
        .count();
    assert_eq!(warnings, usize::from(!has_binary_log), "{text}");
}

/// On a server of its own, because these settings are those of all databases.
#[tokio::test]
async fn what_a_server_is_set_to_is_refused_or_does_not_matter() {
    let locks = tempfile::tempdir().unwrap();
    let server = Server::start(Database::MariaDb, locks.path()).unwrap();
    let url = server.url();
    let options = MysqlOptions::new(&url).with_store(|store| store.with_auto_initialize(true));
    let journal = MysqlJournal::new(options.clone()).unwrap();
    journal.initialize().await.unwrap();
    let mut administrator = connect(&url).await;
    use StorageErrorKind::{AccessDenied, Unsupported};
    for (set, reset, kind, says) in [
        (
            "read_only = 1",
            "read_only = 0",
            AccessDenied,
            "read_only is on",
        ),
        (
            "innodb_flush_log_at_trx_commit = 2",
            "innodb_flush_log_at_trx_commit = 1",
            Unsupported,
            "innodb_flush_log_at_trx_commit is 2",
        ),
        (
            "max_allowed_packet = 8388608",
            "max_allowed_packet = 16777216",
            Unsupported,
            "max_allowed_packet",
        ),
    ] {
        execute(&mut administrator, format!("SET GLOBAL {set}")).await;
        for auto_initialize in [true, false] {
            let options = options
                .clone()
                .with_store(|store| store.with_auto_initialize(auto_initialize));
            assert_error(&refusal(options).await, kind, says);
        }
        execute(&mut administrator, format!("SET GLOBAL {reset}")).await;
    }

    let lax = "SET GLOBAL innodb_flush_log_at_trx_commit = 0, GLOBAL autocommit = 0,
         GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,NO_UNSIGNED_SUBTRACTION',
         GLOBAL tx_isolation = 'SERIALIZABLE', GLOBAL tx_read_only = 1, GLOBAL sql_select_limit = 1,
         GLOBAL sql_safe_updates = 1, GLOBAL completion_type = 'RELEASE', GLOBAL unique_checks = 0,
         GLOBAL foreign_key_checks = 0, GLOBAL time_zone = '-09:30', GLOBAL character_set_connection = latin1,
         GLOBAL collation_server = latin1_swedish_ci";
    execute(&mut administrator, lax).await;
    let wanted = options.with_durability(Durability::Server);
    let journal = MysqlJournal::new(wanted).unwrap();
    journal.initialize().await.unwrap();
    store(&journal, &id("ü"), 300).await;
    journal
        .delete_messages_to(&id("ü"), EventDeletion::up_to(298))
        .await
        .unwrap();
    assert_eq!(numbers(&journal, &id("ü")).await, [299, 300]);
}
