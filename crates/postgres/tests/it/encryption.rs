//! Encrypted connections: what is checked of the server, and what is said when that fails.

use std::path::{Path, PathBuf};

use actix_persistence_postgres::{PostgresJournal, PostgresOptions, TlsMode};
use actix_persistence_storage_api::{Journal, StorageErrorKind};
use actix_persistence_test_servers::{Database, Server};
use sqlx::{ConnectOptions, PgConnection};

use crate::database::{execute, patient};
use crate::place::{assert_error, chain, id, store};

/// For the name `localhost`; made for these tests and good for nothing else.
const CERTIFICATE: &str = include_str!("fixtures/tls/server.pem");
const KEY: &str = include_str!("fixtures/tls/server.key");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/tls/root.pem")
}

/// Puts a file into the server's data folder, readable for it alone.
async fn put(connection: &mut PgConnection, name: &str, text: &str) {
    let sql = format!(
        "COPY (SELECT unnest(string_to_array($text${text}$text$, E'\\n'))) TO PROGRAM 'umask 077; cat > {name}'"
    );
    execute(connection, sql).await;
}

/// A server of the test's own that speaks TLS.
async fn server() -> Server {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let server = Server::start(Database::Postgres, target).unwrap();
    let options: sqlx::postgres::PgConnectOptions = server.url().parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    put(&mut connection, "test.pem", CERTIFICATE).await;
    put(&mut connection, "test.key", KEY).await;
    for setting in [
        "ssl_cert_file = 'test.pem'",
        "ssl_key_file = 'test.key'",
        "ssl = on",
    ] {
        execute(&mut connection, format!("ALTER SYSTEM SET {setting}")).await;
    }
    execute(&mut connection, "SELECT pg_reload_conf()").await;
    // New sessions have the setting as soon as the server has read it again.
    loop {
        let mut fresh = options.connect().await.unwrap();
        let ssl: String = sqlx::query_scalar("SELECT current_setting('ssl')")
            .fetch_one(&mut fresh)
            .await
            .unwrap();
        if ssl == "on" {
            return server;
        }
    }
}

fn options(server: &Server, host: &str, tls: TlsMode, root: Option<PathBuf>) -> PostgresOptions {
    let url = server.url().replace("127.0.0.1", host);
    let mut options = patient(url).with_store(|store| store.with_auto_initialize(true));
    options.server.tls = Some(tls);
    options.server.tls_root_certificate = root;
    options
}

#[tokio::test]
async fn the_certificate_and_the_name_are_checked_as_the_tls_mode_says() {
    let server = server().await;
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for (host, tls, root) in [
        ("localhost", TlsMode::VerifyFull, Some(root())),
        ("127.0.0.1", TlsMode::VerifyCa, Some(root())),
        ("127.0.0.1", TlsMode::Require, None),
    ] {
        let journal = PostgresJournal::new(options(&server, host, tls, root)).unwrap();
        journal.initialize().await.unwrap();
        store(&journal, &id("a"), 1).await;
        let options: sqlx::postgres::PgConnectOptions = server.url().parse().unwrap();
        let mut connection = options.connect().await.unwrap();
        let plain = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
            WHERE application_name = 'actix-persistence' AND NOT ssl";
        let plain: i64 = sqlx::query_scalar(plain)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(plain, 0, "{tls:?}");
    }
    for (host, tls, root, says) in [
        (
            "127.0.0.1",
            TlsMode::VerifyFull,
            Some(root()),
            "begin with 'tls'",
        ),
        ("localhost", TlsMode::VerifyFull, None, "begin with 'tls'"),
        ("localhost", TlsMode::VerifyCa, None, "begin with 'tls'"),
        (
            "localhost",
            TlsMode::VerifyFull,
            Some(empty),
            "holds no CERTIFICATE",
        ),
        (
            "localhost",
            TlsMode::VerifyFull,
            Some("/no/ca.pem".into()),
            "cannot be read",
        ),
    ] {
        let journal = PostgresJournal::new(options(&server, host, tls, root)).unwrap();
        let error = journal.initialize().await.unwrap_err();
        assert_error(&error, StorageErrorKind::AccessDenied, says);
        assert!(!chain(&error).contains("PRIVATE KEY"));
    }
}
