//! A server that shows what its crash takes back.

use std::path::Path;

use actix_persistence_mysql::{Durability, MysqlOptions, MysqlStateStore};
use actix_persistence_storage_api::{
    Payload, StateChangesQuery, StateOffset, StateStore, StateUpdate,
};
use actix_persistence_test_servers::{Database, Server};

use crate::database::{connect, execute};
use crate::place::id;

async fn open(options: MysqlOptions) -> MysqlStateStore {
    let store = MysqlStateStore::new(options).unwrap();
    store.initialize().await.unwrap();
    store
}

async fn store(store: &MysqlStateStore, revision: u64, text: &'static str) {
    let payload = Payload::new(1, "m", text);
    let update = StateUpdate::new(id("a"), revision, payload);
    store.upsert(update).await.unwrap();
}

/// Reads on, and gives what there is of the id and where to go on.
async fn read(store: &MysqlStateStore, after: StateOffset) -> (Vec<String>, StateOffset) {
    let query = StateChangesQuery::new("Test", 10).after(after);
    let page = store.queries().unwrap().changes(query).await.unwrap();
    let states = page.changes.into_iter().map(|change| {
        let state = change.current.state.unwrap();
        String::from_utf8(state.payload.bytes.to_vec()).unwrap()
    });
    (states.collect(), page.offset)
}

/// The log is written long after a commit here, so that the moment between showing and writing it, which is short
/// otherwise, is long.
#[tokio::test]
async fn what_comes_in_the_place_of_what_a_crash_took_back_is_read() {
    let locks = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut server = Server::start(Database::MariaDb, locks).unwrap();
    let options = MysqlOptions::new(server.url())
        .with_durability(Durability::Server)
        .with_store(|store| store.with_auto_initialize(true));
    let mut states = open(options.clone()).await;
    store(&states, 1, "one").await;
    let (mut found, mut after) = read(&states, StateOffset::start()).await;
    assert_eq!(found, ["one"]);
    let mut connection = connect(&server.url()).await;
    let mut lost = false;
    // The server may write its log for reasons of its own: then nothing is lost.
    for round in 0..20 {
        let settings = "SET GLOBAL innodb_flush_log_at_trx_commit = 0;
            SET GLOBAL innodb_flush_log_at_timeout = 2700; FLUSH ENGINE LOGS";
        execute(&mut connection, settings).await;
        let revision = states.get(&id("a")).await.unwrap().revision + 1;
        store(&states, revision, "phantom").await;
        (found, after) = read(&states, after).await;
        assert_eq!(found, ["phantom"]);
        server.kill().unwrap();
        server.restart().unwrap();
        connection = connect(&server.url()).await;
        states = open(options.clone()).await;
        lost = states.get(&id("a")).await.unwrap().revision < revision;
        if lost {
            store(&states, revision, "real").await;
            let (found, _) = read(&states, after.clone()).await;
            assert_eq!(found, ["real"], "in round {round}");
            break;
        }
    }
    assert!(lost, "the server has lost nothing in all rounds");
}
