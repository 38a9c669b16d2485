//! A server that is away for a while.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_postgres::{PostgresJournal, PostgresOptions};
use actix_persistence_storage_api::WriterId;
use actix_persistence_test_servers::{Database, Server};

use crate::place::id;

/// No call waits that long: what ends the outage is the probe.
const RESET_TIMEOUT: Duration = Duration::from_secs(3_600);

#[tokio::test(flavor = "multi_thread")]
async fn calls_go_on_as_soon_as_the_server_is_back_despite_the_breaker() {
    let locks = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut server = Server::start(Database::Postgres, locks).unwrap();
    let options =
        PostgresOptions::new(server.url()).with_store(|store| store.with_auto_initialize(true));
    let journal = PostgresJournal::new(options).unwrap();
    let mut settings = JournalSettings::new("postgres");
    settings.circuit_breaker.reset_timeout = RESET_TIMEOUT;
    let proxy = JournalProxy::spawn(Arc::new(journal), settings).unwrap();
    let handle = proxy.handle();
    handle.ready().await.unwrap();
    let look = || handle.look(id("a"), WriterId::random());
    look().await.unwrap();

    server.kill().unwrap();
    let error = loop {
        let error = look().await.unwrap_err();
        assert!(handle.health().accounts_for(&error), "{error}");
        if error.to_string().contains("circuit breaker") {
            break error;
        }
    };
    assert!(error.to_string().contains("is open for another"), "{error}");
    let waiting = tokio::spawn(handle.health().returned());
    server.restart().unwrap();
    let back = Instant::now();
    waiting.await.unwrap();
    look().await.unwrap();
    assert!(back.elapsed() < RESET_TIMEOUT / 10);
    eprintln!("served {:?} after the server", back.elapsed());
}
