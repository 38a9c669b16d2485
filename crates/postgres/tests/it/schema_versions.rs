//! Tables of other versions, other names, and made by several at once.

use std::process::Command;

use actix_persistence_postgres::{PostgresJournal, PostgresSnapshotStore};
use actix_persistence_storage_api::{
    EventDeletion, Journal, SnapshotCriteria, SnapshotStore, StorageErrorKind, WriterId,
};
use futures_util::future::join_all;

use crate::database::patient;
use crate::place::{Place, assert_error, id, numbers, replay_all, store};

const CHILD: &str = "ACTIX_PERSISTENCE_TEST_DATABASE";
const STARTERS: usize = 6;

/// Written by the first version, and never again: what it holds must be readable for ever.
const VERSION_1: &str = include_str!("fixtures/version_1.sql");

#[tokio::test]
async fn a_database_of_version_1_opens_and_goes_on() {
    let place = Place::new().await;
    place.run(VERSION_1).await;
    let journal = place
        .journal_with(
            place
                .options()
                .with_store(|store| store.with_auto_initialize(false)),
        )
        .await;

    let page = replay_all(&journal, &id("kept")).await;
    let [event] = page.events.as_slice() else {
        unreachable!("one of three events is not deleted: {page:?}")
    };
    assert_eq!(page.deleted_to, 2);
    assert_eq!(
        (event.sequence_nr, event.timestamp.as_micros()),
        (3, 1_700_000_000_000_003)
    );
    assert_eq!(
        (event.payload.serializer_id, &*event.payload.manifest),
        (1, "test.event:v1")
    );
    assert_eq!(&*event.payload.bytes, b"three");
    assert_eq!(event.writer.as_bytes(), &[0x11; 16]);
    assert_eq!(&*event.adapter_manifest, "adapted");
    assert_eq!(event.tags.len(), 2);
    let metadata = event.metadata.as_ref().unwrap();
    assert_eq!((metadata.serializer_id, &*metadata.bytes), (2, &b"{}"[..]));

    let recovered = journal
        .recover(&id("emptied"), WriterId::random())
        .await
        .unwrap();
    assert_eq!(
        (recovered.highest_sequence_nr, recovered.deleted_to),
        (5, 5)
    );
    assert_eq!(recovered.epoch, 8);
    store(&journal, &id("kept"), 2).await;
    assert_eq!(numbers(&journal, &id("kept")).await, [3, 4, 5]);
    let snapshots = place.snapshot_store().await;
    let criteria = SnapshotCriteria::LATEST;
    let snapshot = snapshots
        .load(&id("kept"), criteria)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(snapshot.metadata.sequence_nr, 2);
    assert_eq!(&*snapshot.payload.bytes, b"state");
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let place = Place::new().await;
    place.journal().await;
    place.snapshot_store().await;
    place
        .run("UPDATE actix_persistence_schema SET version = 9")
        .await;
    let journal = PostgresJournal::new(place.options()).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "use a newer program",
    );
    let snapshots = PostgresSnapshotStore::new(place.options()).unwrap();
    let error = snapshots.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "use a newer program",
    );
}

#[tokio::test]
async fn stores_with_other_table_names_or_schemas_share_a_database_and_nothing_else() {
    let place = Place::new().await;
    // Keywords are names like others.
    let other = place
        .options()
        .with_store(|store| store.with_journal_tables("order", "Select", "_m2"))
        .with_store(|store| store.with_snapshot_table("group"));
    let (first, second) = (
        place.journal().await,
        place.journal_with(other.clone()).await,
    );
    store(&first, &id("a"), 2).await;
    store(&second, &id("a"), 3).await;
    second
        .delete_messages_to(&id("a"), EventDeletion::up_to(1))
        .await
        .unwrap();
    assert_eq!(numbers(&first, &id("a")).await, [1, 2]);
    assert_eq!(numbers(&second, &id("a")).await, [2, 3]);
    let snapshots = PostgresSnapshotStore::new(other).unwrap();
    snapshots.initialize().await.unwrap();
    assert_eq!(place.number("SELECT count(*) FROM \"group\"").await, 0);
    assert_eq!(
        place
            .number("SELECT count(*) FROM actix_persistence_schema")
            .await,
        3
    );
}

#[tokio::test]
async fn tables_that_were_made_with_others_are_not_mixed() {
    let place = Place::new().await;
    let first = place
        .options()
        .with_store(|store| store.with_journal_tables("e1", "t1", "m1"));
    let second = place
        .options()
        .with_store(|store| store.with_journal_tables("e2", "t2", "m2"));
    store(&place.journal_with(first.clone()).await, &id("a"), 2).await;
    place.journal_with(second).await;
    // Epochs and deleted numbers of e1 are in m1: with m2 they would start again.
    let mixed = place
        .options()
        .with_store(|store| store.with_journal_tables("e1", "t1", "m2"));
    let error = PostgresJournal::new(mixed)
        .unwrap()
        .initialize()
        .await
        .unwrap_err();
    let says = "'e1' was made together with t1, m1, e1_removed, not with t1, m2, e1_removed";
    assert_error(&error, StorageErrorKind::SchemaMismatch, says);
    assert_eq!(
        numbers(&place.journal_with(first).await, &id("a")).await,
        [1, 2]
    );
}

#[tokio::test]
async fn a_table_of_another_kind_of_store_is_refused() {
    let place = Place::new().await;
    place.journal().await;
    let options = place
        .options()
        .with_store(|store| store.with_journal_tables("e", "t", "m"))
        .with_store(|store| store.with_snapshot_table("event_journal"));
    let snapshots = PostgresSnapshotStore::new(options).unwrap();
    let error = snapshots.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "belongs to a journal",
    );
}

#[tokio::test]
async fn names_that_would_change_a_statement_never_reach_one() {
    let place = Place::new().await;
    for name in ["a\"; DROP TABLE t; --", "a b", "a\0", "", "1a", "pg_class"] {
        let options = place
            .options()
            .with_store(|store| store.with_journal_tables(name, "t", "m"));
        let error = PostgresJournal::new(options).unwrap_err();
        assert_eq!(error.key, "event-table", "{name:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_instances_initialize_one_new_database_at_once() {
    for _ in 0..3 {
        let place = Place::new().await;
        let starters = (0..STARTERS).map(|_| {
            let journal = PostgresJournal::new(place.options()).unwrap();
            let snapshots = PostgresSnapshotStore::new(place.options()).unwrap();
            tokio::spawn(async move {
                journal.initialize().await?;
                snapshots.initialize().await
            })
        });
        for result in join_all(starters).await {
            result.unwrap().unwrap();
        }
    }
}

/// Runs itself as the other processes: the variable tells them which database.
#[tokio::test]
async fn many_processes_initialize_one_new_database_at_once() {
    if let Ok(path) = std::env::var(CHILD) {
        let journal = PostgresJournal::new(
            patient(path).with_store(|store| store.with_auto_initialize(true)),
        )
        .unwrap();
        journal.initialize().await.unwrap();
        store(&journal, &id(&std::process::id().to_string()), 1).await;
        return;
    }
    let place = Place::new().await;
    let program = std::env::current_exe().unwrap();
    let name = "schema_versions::many_processes_initialize_one_new_database_at_once";
    let children: Vec<_> = (0..STARTERS)
        .map(|_| {
            let mut command = Command::new(&program);
            command
                .args(["--exact", name])
                .env(CHILD, place.database.url());
            command.stdout(std::process::Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let events = place.number("SELECT count(*) FROM event_journal").await;
    assert_eq!(events, STARTERS as i64);
}

#[tokio::test]
async fn the_printed_statements_make_the_tables_that_a_store_expects() {
    let place = Place::new().await;
    let options = place
        .options()
        .with_store(|store| store.with_auto_initialize(false));
    let journal = PostgresJournal::new(options.clone()).unwrap();
    let snapshots = PostgresSnapshotStore::new(options).unwrap();
    for sql in [journal.schema_sql(None), snapshots.schema_sql(None)] {
        place.run(sql.unwrap()).await;
    }
    journal.initialize().await.unwrap();
    snapshots.initialize().await.unwrap();
    store(&journal, &id("a"), 2).await;
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2]);
}
