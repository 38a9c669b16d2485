//! The tables that initialising makes, checks and refuses.

use actix_persistence_postgres::{PostgresJournal, PostgresOptions, SynchronousCommit};
use actix_persistence_sql_tests::journal::opening;
use actix_persistence_sql_tests::{Tables, until_number};
use actix_persistence_storage_api::{
    EventDeletion, Journal, StateExtensions, StorageError, StorageErrorKind,
};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::database::{execute, patient};
use crate::place::{Place, assert_error, chain, id, numbers, store};

async fn refusal(options: PostgresOptions) -> StorageError {
    let journal = PostgresJournal::new(options).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert!(error.is_not_stored(), "{error}");
    error
}

actix_persistence_sql_tests::test_opening!(server Place::new().await);

#[tokio::test]
async fn without_auto_initialize_nothing_is_made() {
    let place = Place::new().await;
    let section = place.section().with("schema", "bank");
    let made = "SELECT count(*) FROM pg_namespace WHERE nspname = 'bank'";
    opening::without_auto_initialize_nothing_is_made(&place, section, made).await;
}

/// Someone alters the table of one store while another one on the same connections works. A call waits for a connection for a
/// shorter time than the first store for the lock.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_waits_for_a_lock_keeps_no_writer_from_the_others() {
    let place = Place::new().await;
    let section = place.section().with("writers", 1);
    let (plugin, section) = (place.plugin(), section.with("acquire-timeout", "15s"));
    place.open().await;
    let journal = plugin.journal(&section).unwrap();
    journal.initialize().await.unwrap();
    let mut altering = place.connection().await;
    execute(&mut altering, "BEGIN; LOCK TABLE durable_state").await;
    let states = plugin.state_store(&section, &StateExtensions::default());
    let states = states.unwrap();
    let waiting = tokio::spawn(async move { states.initialize().await });
    let waits =
        "SELECT count(*) FROM pg_locks WHERE relation = 'durable_state'::regclass AND NOT granted";
    until_number(&place, waits, |waits| waits > 0).await;

    store(&*journal, &id("a"), 1).await;

    assert!(!waiting.is_finished(), "its table is still locked");
    execute(&mut altering, "COMMIT").await;
    waiting.await.unwrap().unwrap();
}

/// A server that has no encryption says so with one letter; it must hear nothing after that.
#[tokio::test]
async fn encryption_that_is_required_is_never_done_without() {
    for mode in ["require", "verify-ca", "verify-full"] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = [0; 8];
            connection.read_exact(&mut request).await.unwrap();
            connection.write_all(b"N").await.unwrap();
            let mut rest = Vec::new();
            connection.read_to_end(&mut rest).await.unwrap();
            rest
        });
        let url = format!("postgres://me:hunter2@127.0.0.1:{port}/bank?sslmode={mode}");
        let error = refusal(patient(url)).await;
        assert_error(&error, StorageErrorKind::AccessDenied, "begin with 'tls'");
        assert!(
            chain(&error).contains("server does not support TLS"),
            "{}",
            chain(&error)
        );
        assert_eq!(server.await.unwrap(), b"");
    }
}

#[tokio::test]
async fn a_server_that_may_only_be_read_is_refused_at_the_start() {
    let place = Place::new().await;
    place.journal().await;
    let name = place.database.name();
    place
        .run(format!(
            "ALTER DATABASE {name} SET default_transaction_read_only = on"
        ))
        .await;
    for auto_initialize in [true, false] {
        let options = place
            .options()
            .with_store(|store| store.with_auto_initialize(auto_initialize));
        let error = refusal(options).await;
        assert_error(
            &error,
            StorageErrorKind::AccessDenied,
            "default_transaction_read_only is on",
        );
    }
}

#[tokio::test]
async fn commits_that_do_not_wait_for_the_disk_are_refused_unless_chosen() {
    let place = Place::new().await;
    let name = place.database.name();
    place
        .run(format!(
            "ALTER DATABASE {name} SET synchronous_commit = off"
        ))
        .await;
    let error = refusal(place.options()).await;
    assert_error(
        &error,
        StorageErrorKind::Unsupported,
        "'synchronous-commit'",
    );
    for setting in [SynchronousCommit::On, SynchronousCommit::Off] {
        let options = place.options().with_synchronous_commit(setting);
        let journal = place.journal_with(options).await;
        store(&journal, &id("a"), 1).await;
    }
}

#[tokio::test]
async fn a_database_in_another_encoding_is_refused() {
    let place = Place::new().await;
    let latin = format!("{}_latin", place.database.name());
    let sql = format!(
        "CREATE DATABASE {latin} TEMPLATE template0 ENCODING LATIN1 LOCALE_PROVIDER libc LOCALE 'C'"
    );
    place.run(sql).await;
    let url = place.database.url().replace(place.database.name(), &latin);
    let error = refusal(patient(url)).await;
    place
        .run(format!("DROP DATABASE {latin} WITH (FORCE)"))
        .await;
    assert_error(&error, StorageErrorKind::SchemaMismatch, "LATIN1");
}

#[tokio::test]
async fn a_role_without_a_privilege_learns_which_one_is_missing() {
    let place = Place::new().await;
    let url = place.database.application_url();
    let options = patient(url)
        .with_schema("bank")
        .with_store(|store| store.with_auto_initialize(true));
    let error = refusal(options.clone()).await;
    assert_error(&error, StorageErrorKind::AccessDenied, "lacks a privilege");

    let owner = PostgresJournal::new(place.options().with_schema("bank")).unwrap();
    let roles = place.database.roles();
    place.run(owner.schema_sql(Some(&roles)).unwrap()).await;
    let name = place.database.name();
    place
        .run(format!("REVOKE INSERT ON bank.event_journal FROM {name}"))
        .await;
    let error = refusal(options.clone()).await;
    let missing = "grant INSERT on \"bank\".\"event_journal\"";
    assert_error(&error, StorageErrorKind::AccessDenied, missing);

    place
        .run(format!("GRANT INSERT ON bank.event_journal TO {name}"))
        .await;
    let journal = place.journal_with(options).await;
    store(&journal, &id("a"), 2).await;
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2]);
    let mut application = place.database.connect_as_application().await;
    let drop = sqlx::query("DROP TABLE bank.event_journal").execute(&mut application);
    assert!(
        drop.await.is_err(),
        "the application could change the schema"
    );
}

/// A login for each application, or for each hour, and a role they all play, which owns the tables.
#[tokio::test]
async fn a_role_that_plays_another_one_from_its_login_on_can_use_the_stores() {
    let place = Place::new().await;
    let roles = place.database.roles();
    let (login, owner) = (roles.application, roles.owner);
    for sql in [
        format!("CREATE SCHEMA bank AUTHORIZATION {owner}"),
        format!("GRANT {owner} TO {login}"),
        format!("ALTER ROLE {login} NOINHERIT"),
        format!("ALTER ROLE {login} SET role = {owner}"),
    ] {
        place.run(sql).await;
    }
    let options = patient(place.database.application_url())
        .with_schema("bank")
        .with_store(|store| store.with_auto_initialize(true));
    let journal = place.journal_with(options).await;
    store(&journal, &id("a"), 2).await;
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2]);
}

#[tokio::test]
async fn the_same_store_initializes_as_soon_as_the_cause_of_a_failure_is_gone() {
    let place = Place::new().await;
    let role = place.database.name();
    place
        .run(format!("ALTER ROLE {role} CONNECTION LIMIT 0"))
        .await;
    let options = patient(place.database.application_url())
        .with_schema("bank")
        .with_store(|store| store.with_auto_initialize(true));
    let journal = PostgresJournal::new(options).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::Unavailable,
        "too many connections",
    );
    let mut owner = place.connection().await;
    execute(&mut owner, format!("ALTER ROLE {role} CONNECTION LIMIT -1")).await;
    execute(
        &mut owner,
        format!("CREATE SCHEMA bank AUTHORIZATION {role}"),
    )
    .await;
    journal.initialize().await.unwrap();
    store(&journal, &id("a"), 1).await;
}

#[tokio::test]
async fn defaults_of_a_database_and_tables_of_the_same_name_do_not_matter() {
    let place = Place::new().await;
    let name = place.database.name();
    let sql = format!(
        "CREATE SCHEMA trap; CREATE TABLE trap.event_journal (a int); CREATE TABLE trap.journal_metadata (a int);
         ALTER DATABASE {name} SET search_path = trap, public;
         ALTER DATABASE {name} SET default_transaction_isolation = 'serializable';
         ALTER DATABASE {name} SET enable_indexscan = off;
         ALTER DATABASE {name} SET bytea_output = 'escape'"
    );
    place.run(sql).await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 3).await;
    journal
        .delete_messages_to(&id("a"), EventDeletion::up_to(1))
        .await
        .unwrap();
    assert_eq!(numbers(&journal, &id("a")).await, [2, 3]);
}
