//! Encrypted connections, and whom they trust.

use std::path::Path;

use actix_persistence_mysql::{MysqlJournal, MysqlOptions, TlsMode};
use actix_persistence_storage_api::{Journal, StorageError, StorageErrorKind};
use actix_persistence_test_servers::{Database, Server};

use crate::place::{assert_error, id, numbers, store};

fn journal(server: &Server, host: &str, mode: TlsMode, authority: Option<&Path>) -> MysqlJournal {
    let url = server.url().replace("127.0.0.1", host);
    let mut options = MysqlOptions::new(url).with_store(|store| store.with_auto_initialize(true));
    options.server.tls = Some(mode);
    options.server.tls_root_certificate = authority.map(Path::to_path_buf);
    MysqlJournal::new(options).unwrap()
}

async fn refusal(journal: MysqlJournal) -> StorageError {
    journal.initialize().await.unwrap_err()
}

#[tokio::test]
async fn a_certificate_must_be_of_a_trusted_authority_and_name_the_server() {
    let locks = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let server = Server::start_encrypted(Database::MariaDb, locks).unwrap();
    let authority = server.authority();

    let trusted = journal(&server, "localhost", TlsMode::VerifyFull, authority);
    trusted.initialize().await.unwrap();
    store(&trusted, &id("a"), 2).await;
    assert_eq!(numbers(&trusted, &id("a")).await, [1, 2]);

    for (host, mode, authority) in [
        ("127.0.0.1", TlsMode::VerifyFull, authority),
        ("localhost", TlsMode::VerifyFull, None),
        ("127.0.0.1", TlsMode::VerifyCa, None),
    ] {
        let error = refusal(journal(&server, host, mode, authority)).await;
        assert_error(&error, StorageErrorKind::AccessDenied, "begin with 'tls'");
    }
    for (mode, authority) in [(TlsMode::VerifyCa, authority), (TlsMode::Require, None)] {
        let journal = journal(&server, "127.0.0.1", mode, authority);
        journal.initialize().await.unwrap();
        assert_eq!(numbers(&journal, &id("a")).await, [1, 2]);
    }
}
