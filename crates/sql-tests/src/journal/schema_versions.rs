//! Tables of other versions, other names, and made by several at once.

use std::process::{Command, Stdio};

use actix_persistence_storage_api::{EventDeletion, SnapshotCriteria, StorageErrorKind, WriterId};
use actix_persistence_tck::TakeOverOne;
use futures_util::future::join_all;

use crate::Tables;
use crate::steps::{assert_error, id, numbers, replay_all, store};

const STARTERS: usize = 6;

/// The database of the first version, by the statements that make it again.
pub async fn a_database_of_version_1_opens_and_goes_on(place: &dyn Tables, version_1: &str) {
    place.run(version_1).await;
    let journal = place
        .journal_with(place.section().with("auto-initialize", false))
        .await;

    let page = replay_all(&*journal, &id("kept")).await;
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

    let taken = journal
        .take_over_one(&id("emptied"), WriterId::random())
        .await
        .unwrap();
    assert_eq!((taken.highest_sequence_nr, taken.deleted_to), (5, 5));
    assert_eq!(taken.epoch, 8);
    store(&*journal, &id("kept"), 2).await;
    assert_eq!(numbers(&*journal, &id("kept")).await, [3, 4, 5]);
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

/// Tables of a version that is not known yet.
pub async fn a_newer_schema_is_refused(place: &dyn Tables) {
    place.journal().await;
    place.snapshot_store().await;
    place
        .run("UPDATE actix_persistence_schema SET version = 9")
        .await;
    let journal = place.new_journal(place.section());
    let error = journal.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "use a newer program",
    );
    let snapshots = place.new_snapshot_store(place.section());
    let error = snapshots.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "use a newer program",
    );
}

/// Checks names that are keywords of SQL, too.
pub async fn stores_with_other_table_names_share_a_database_and_nothing_else(place: &dyn Tables) {
    // Keywords are names like others.
    let other = place
        .section()
        .with("event-table", "order")
        .with("tag-table", "Select")
        .with("metadata-table", "_m2")
        .with("snapshot-table", "group");
    let (first, second) = (
        place.journal().await,
        place.journal_with(other.clone()).await,
    );
    store(&*first, &id("a"), 2).await;
    store(&*second, &id("a"), 3).await;
    second
        .delete_messages_to(&id("a"), EventDeletion::up_to(1))
        .await
        .unwrap();
    assert_eq!(numbers(&*first, &id("a")).await, [1, 2]);
    assert_eq!(numbers(&*second, &id("a")).await, [2, 3]);
    let snapshots = place.new_snapshot_store(other);
    snapshots.initialize().await.unwrap();
    assert_eq!(
        place
            .number(&format!("SELECT COUNT(*) FROM {}", place.quoted("group")))
            .await,
        0
    );
    assert_eq!(
        place
            .number("SELECT COUNT(*) FROM actix_persistence_schema")
            .await,
        3
    );
}

/// The events of one set of tables with the epochs of another.
pub async fn tables_that_were_made_with_others_are_not_mixed(place: &dyn Tables) {
    let first = place
        .section()
        .with("event-table", "e1")
        .with("tag-table", "t1")
        .with("metadata-table", "m1");
    let second = place
        .section()
        .with("event-table", "e2")
        .with("tag-table", "t2")
        .with("metadata-table", "m2");
    store(&*place.journal_with(first.clone()).await, &id("a"), 2).await;
    place.journal_with(second).await;
    // Epochs and deleted numbers of e1 are in m1: with m2 they would start again.
    let mixed = place
        .section()
        .with("event-table", "e1")
        .with("tag-table", "t1")
        .with("metadata-table", "m2");
    let error = place.new_journal(mixed).initialize().await.unwrap_err();
    for says in ["'e1' was made together with t1, m1", "not with t1, m2"] {
        assert_error(&error, StorageErrorKind::SchemaMismatch, says);
    }
    assert_eq!(
        numbers(&*place.journal_with(first).await, &id("a")).await,
        [1, 2]
    );
}

/// A snapshot store on the table of events.
pub async fn a_table_of_another_kind_of_store_is_refused(place: &dyn Tables) {
    place.journal().await;
    let options = place
        .section()
        .with("event-table", "e")
        .with("tag-table", "t")
        .with("metadata-table", "m")
        .with("snapshot-table", "event_journal");
    let snapshots = place.new_snapshot_store(options);
    let error = snapshots.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "belongs to a journal",
    );
}

/// The statements that a person runs instead of `auto-initialize`.
pub async fn the_printed_statements_make_the_tables_that_a_store_expects(place: &dyn Tables) {
    let section = place.section().with("auto-initialize", false);
    let journal = place.new_journal(section.clone());
    let snapshots = place.new_snapshot_store(section.clone());
    let plugin = place.plugin();
    for sql in [
        plugin.journal_schema(&section, None),
        plugin.snapshot_store_schema(&section, None),
    ] {
        place.run(&sql.unwrap().unwrap()).await;
    }
    journal.initialize().await.unwrap();
    snapshots.initialize().await.unwrap();
    store(&*journal, &id("a"), 2).await;
    assert_eq!(numbers(&*journal, &id("a")).await, [1, 2]);
}

/// Names that are no names of tables, or of those that belong to the database.
pub async fn names_that_would_change_a_statement_never_reach_one(place: &dyn Tables) {
    for name in [
        "a\"; DROP TABLE t; --",
        "a b",
        "a\0",
        "",
        "1a",
        "pg_class",
        "sqlite_master",
    ] {
        let section = place.section().with("event-table", name);
        let errors = place.plugin().journal(&section).err();
        let errors = errors.expect("it is no name of a table").into_errors();
        let paths: Vec<_> = errors.into_iter().map(|error| error.path).collect();
        assert_eq!(paths, [section.path_of("event-table")], "{name:?}");
    }
}

/// Several instances that find no tables, in this many databases.
pub async fn many_instances_initialize_one_new_database_at_once<T: Tables>(
    databases: usize,
    new: impl AsyncFn() -> T,
) {
    for _ in 0..databases {
        let place = new().await;
        let starters = (0..STARTERS).map(|_| {
            let journal = place.new_journal(place.section());
            let snapshots = place.new_snapshot_store(place.section());
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

/// Tells another process of the test which database it is to open.
const CHILD: &str = "ACTIX_PERSISTENCE_TEST_DATABASE";
const MANY_PROCESSES: &str = "schema_versions::many_processes_initialize_one_new_database_at_once";

/// Several processes that find no tables: the program of the tests runs its own test with this name as each of them.
pub async fn many_processes_initialize_one_new_database_at_once<T: Tables>(
    new: impl AsyncFn() -> T,
) {
    if let Ok(url) = std::env::var(CHILD) {
        let journal = T::journal_at(&url);
        journal.initialize().await.unwrap();
        store(&*journal, &id(&std::process::id().to_string()), 1).await;
        return;
    }
    let place = new().await;
    let program = std::env::current_exe().unwrap();
    let children: Vec<_> = (0..STARTERS)
        .map(|_| {
            let mut command = Command::new(&program);
            command.args(["--exact", MANY_PROCESSES]);
            command.env(CHILD, place.url());
            command.stdout(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let events = place.number("SELECT COUNT(*) FROM event_journal").await;
    assert_eq!(events, STARTERS as i64);
}
