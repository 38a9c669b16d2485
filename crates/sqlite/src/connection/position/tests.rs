//! Notes of a log that another process writes to at the same moment.

use std::os::unix::fs::FileExt;

use actix_persistence_sql::{Connector, Role};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqlSafeStr, SqliteConnection};

use super::super::tests::database;
use super::*;
use crate::SqliteOptions;
use crate::connection::{OpenFile, SqliteConnector};

async fn run(connection: &mut SqliteConnection, sql: impl SqlSafeStr) {
    let done = sqlx::raw_sql(sql).execute(connection).await;
    done.expect("SQLite runs it");
}

async fn store(connection: &mut SqliteConnection, sql: &'static str) {
    for sql in [queries::BEGIN, sql, queries::COMMIT] {
        run(connection, sql).await;
    }
}

/// A process dies while it commits the first transaction of a log: its frames are written, and not yet published. The next
/// transaction overwrites them.
#[tokio::test]
async fn what_is_not_published_of_a_new_log_is_not_noted() {
    let (directory, database) = database().await;
    let connector = database.connector();
    let mut open = connector.open(Role::Writer).await.unwrap();
    store(&mut open.connection, "INSERT INTO t VALUES (1)").await;
    log::copy(&mut open.connection).await.unwrap();
    // It has begun a log before: SQLite draws no salts then for one that is empty.
    store(&mut open.connection, "INSERT INTO t VALUES (2)").await;

    let path = directory.path().join("some.db");
    let other = SqliteConnectOptions::new().filename(&path);
    let mut other = other.connect().await.unwrap();
    let begin = "PRAGMA cache_size = 1; PRAGMA wal_checkpoint(RESTART); BEGIN IMMEDIATE; CREATE TABLE u (a); \
        INSERT INTO u VALUES (zeroblob(100000)); INSERT INTO u VALUES (zeroblob(100000))";
    run(&mut other, begin).await;
    let log = LogFile::open(&connector.location).unwrap().unwrap();
    let header = log.header().unwrap().unwrap();
    let last = (1..)
        .take_while(|number| log.has_frame(&header, *number).unwrap())
        .last();
    let last = last.expect("the cache holds less");
    assert!(last > 5, "{last}");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(directory.path().join("some.db-wal"))
        .unwrap();
    // The number of pages, which ends a transaction.
    let place = 32 + u64::from(last - 1) * (24 + 4096) + 4;
    file.write_all_at(&100_u32.to_be_bytes(), place).unwrap();

    connector.check_committed(&mut open).await.unwrap();
    run(&mut other, "ROLLBACK").await;
    store(&mut open.connection, "INSERT INTO t VALUES (3)").await;

    // As a crash leaves it before the next note.
    let copy = tempfile::tempdir().unwrap();
    for end in ["", "-wal", "-position"] {
        let name = format!("some.db{end}");
        std::fs::copy(directory.path().join(&name), copy.path().join(&name)).unwrap();
    }
    let copy = connector_of(&copy.path().join("some.db"));
    let mut found = copy.open(Role::Writer).await.unwrap();
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM t")
        .fetch_one(&mut found.connection)
        .await
        .unwrap();
    assert_eq!(rows, 3);
}

/// Of a large database that takes longer than an attempt to open it, so that others begin meanwhile.
#[tokio::test]
async fn pages_are_checked_once_after_an_unfinished_copy() {
    let (directory, database) = database().await;
    let connector = database.connector();
    let _other = lose_the_log_amid_its_copy(&directory, connector).await;
    let look = async || check_log(&connector.location).await.unwrap();
    assert_eq!(look().await, LogCheck::CopyUnfinished);
    let set_up = Role::SetUp { may_create: false };
    // The caller is gone before the tables are looked at.
    drop(connector.open(set_up).await.unwrap());
    assert_eq!(look().await, LogCheck::Passed);
}

/// The log may be lost after the set-up, while the stores of a process are closed for a moment.
#[tokio::test]
async fn a_writer_does_not_go_on_with_a_part_of_a_transaction() {
    let (directory, database) = database().await;
    let connector = database.connector();
    let mut other = lose_the_log_amid_its_copy(&directory, connector).await;
    let index = "SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND tbl_name = 't'";
    let index: i64 = sqlx::query_scalar(index)
        .fetch_one(&mut other)
        .await
        .unwrap();
    other.close().await.unwrap();
    // As before the transaction: a leaf without entries.
    let mut page = vec![0; 4096];
    page[0] = 10;
    page[5] = 16;
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(directory.path().join("some.db"))
        .unwrap();
    let place = (u64::try_from(index).unwrap() - 1) * 4096;
    file.write_all_at(&page, place).unwrap();
    let error = connector.open(Role::Writer).await.unwrap_err();
    assert!(
        format!("{error:?}").contains("that log is gone"),
        "{error:?}"
    );
}

/// A process dies between making tables and its first commit: only what it noted while it made them tells what is in the log.
#[tokio::test]
async fn the_end_of_a_log_with_new_tables_is_noted_when_the_set_up_ends() {
    let (directory, database) = database().await;
    let connector = database.connector();
    database.close().await;
    let _reader = reader_of(connector).await;

    make_table(connector, "CREATE TABLE u (a)").await;
    let check = || check_log(&connector.location);
    assert_eq!(check().await.unwrap(), LogCheck::Passed);
    let path = directory.path().join("some.db-wal");
    let log = std::fs::read(&path).unwrap();
    assert!(log.len() > 32 + 4120, "the reader keeps nothing there");
    std::fs::write(&path, &log[..32 + 4120]).unwrap();
    check().await.unwrap_err();
}

/// Opens a connection that writes, and stores a row.
async fn writer_of(connector: &SqliteConnector) -> OpenFile {
    writer_after(connector, "INSERT INTO t VALUES (1)").await
}

/// Opens a connection that writes, and has committed this.
async fn writer_after(connector: &SqliteConnector, sql: &'static str) -> OpenFile {
    let opened = connector.open(Role::Writer).await;
    let mut writer = opened.expect("SQLite opens it");
    store(&mut writer.connection, sql).await;
    let checked = connector.check_committed(&mut writer).await;
    checked.expect("the log is there");
    writer
}

/// Opens a connection that reads, and keeps a transaction open.
async fn reader_of(connector: &SqliteConnector) -> OpenFile {
    let opened = connector.open(Role::Reader).await;
    let mut reader = opened.expect("SQLite opens it");
    run(&mut reader.connection, "BEGIN; SELECT count(*) FROM t").await;
    reader
}

/// Stores a row, fails to copy the log, and lets another program, which is returned, copy it and empty it.
async fn lose_the_log_amid_its_copy(
    directory: &tempfile::TempDir,
    connector: &SqliteConnector,
) -> SqliteConnection {
    let mut open = writer_of(connector).await;
    let fails = async { Err(SqlError::corrupt("it ends in the middle")) };
    let position = open.position.as_mut().expect("a writer has one");
    let failed = position.copy(fails).await;
    failed.expect_err("it is told");
    drop(open);
    let options = SqliteConnectOptions::new().filename(directory.path().join("some.db"));
    let mut other = options.connect().await.expect("SQLite opens it");
    run(&mut other, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    other
}

fn is_noted_as_being_copied(connector: &SqliteConnector) -> bool {
    noted(connector).is_copied
}

fn noted(connector: &SqliteConnector) -> Note {
    let noted = note::read(&note::path_of(&connector.location));
    noted.expect("it has been opened")
}

fn connector_of(path: &std::path::Path) -> SqliteConnector {
    let options = SqliteOptions::new(path.to_str().expect("a path in UTF-8"));
    SqliteConnector::new(&options).expect("options that fit")
}

async fn make_table(connector: &SqliteConnector, sql: &'static str) {
    let role = Role::SetUp { may_create: false };
    let mut open = connector.open(role).await.expect("SQLite opens it");
    for sql in [queries::BEGIN, sql, queries::COMMIT_SET_UP] {
        run(&mut open.connection, sql).await;
    }
    connector.close(open, role).await;
}

/// The file has some pages of an earlier transaction then, and lacks those that a later one changed, too.
#[tokio::test]
async fn a_copy_that_a_reader_bounds_is_noted_until_one_is_whole() {
    let (directory, database) = database().await;
    let connector = database.connector();
    let mut writer = writer_of(connector).await;
    let mut reader = reader_of(connector).await;
    make_table(connector, "CREATE TABLE u (a)").await;
    assert!(is_noted_as_being_copied(connector));
    let copy = log::copy(&mut writer.connection).await.unwrap();
    assert!(!copy.is_whole);

    // Another process, and a connection that has written before.
    let path = directory.path().join("some.db");
    let mut other = connector_of(&path);
    // As that process knows it: nothing yet.
    other.unfinished_copy = UnfinishedCopy::of(&connector_of(&directory.path().join("x")).location);
    drop(other.open(Role::Writer).await.unwrap());
    assert!(is_noted_as_being_copied(connector));
    store(&mut writer.connection, "INSERT INTO t VALUES (2)").await;
    connector.check_committed(&mut writer).await.unwrap();
    assert!(is_noted_as_being_copied(connector));

    connector.close(writer, Role::Writer).await;
    assert!(is_noted_as_being_copied(connector));

    run(&mut reader.connection, "COMMIT").await;
    make_table(connector, "CREATE TABLE v (a)").await;
    assert!(!is_noted_as_being_copied(connector));
}

/// The other one, perhaps of another process, may be killed in the middle of its copy.
#[tokio::test]
async fn a_copy_that_another_connection_is_making_is_not_noted_as_whole() {
    let (directory, database) = database().await;
    let connector = database.connector();
    let open = writer_of(connector).await;
    let options = SqliteConnectOptions::new().filename(directory.path().join("some.db"));
    let options = options.busy_timeout(std::time::Duration::from_secs(60));
    let mut holder = options.connect().await.unwrap();
    run(&mut holder, "BEGIN IMMEDIATE").await;
    let mut copier = options.connect().await.unwrap();
    let is_busy = async |connection: &mut SqliteConnection, copy: &'static str| {
        let row = sqlx::query(copy).fetch_one(connection).await.unwrap();
        row.get::<i64, _>("busy") != 0
    };
    // It waits for the holder and keeps others from copying meanwhile, unless one of them is copying when it begins.
    let copying =
        tokio::spawn(async move { while is_busy(&mut copier, queries::TRUNCATE_LOG).await {} });
    let mut other = options.connect().await.unwrap();
    while !is_busy(&mut other, queries::COPY_LOG).await {}
    connector.close(open, Role::Writer).await;
    assert!(is_noted_as_being_copied(connector));
    run(&mut holder, "ROLLBACK").await;
    copying.await.unwrap();
}

/// A reader keeps it from being saved as a whole. The connection that writes finds out that the log is gone, or one that reads;
/// and the end of the log may be noted, or only that of the log before it, which was copied.
#[tokio::test]
async fn the_copy_of_a_log_that_was_removed_is_noted() {
    for (is_found_by_a_reader, is_of_noted_log) in
        [(false, false), (false, true), (true, false), (true, true)]
    {
        let (directory, database) = database().await;
        let connector = database.connector();
        let mut open = writer_of(connector).await;
        if !is_of_noted_log {
            let copied = log::copy(&mut open.connection).await.unwrap();
            assert!(copied.is_whole);
            store(&mut open.connection, "INSERT INTO t VALUES (3)").await;
        }
        let mut finder = connector.open(Role::Reader).await.unwrap();
        let _reader = reader_of(connector).await;
        store(&mut open.connection, "INSERT INTO t VALUES (2)").await;
        std::fs::remove_file(directory.path().join("some.db-wal")).unwrap();
        if is_found_by_a_reader {
            let no_time = std::time::Duration::ZERO;
            assert!(!connector.is_usable(&mut finder, no_time).await.unwrap());
        } else {
            connector.check_committed(&mut open).await.unwrap_err();
        }
        assert!(is_noted_as_being_copied(connector));
    }
}

/// The writer commits after the set-up has looked at the database, and after or before it looks at the log.
#[tokio::test]
async fn a_set_up_takes_nothing_back_that_the_writer_notes_meanwhile() {
    for has_seen_the_log in [false, true] {
        let (_directory, database) = database().await;
        let connector = database.connector();
        let mut open = writer_of(connector).await;
        let role = Role::SetUp { may_create: false };
        let mut set_up = connector.open(role).await.unwrap();
        let position = of_set_up(&mut set_up.connection, connector).await;
        let mut position = position.unwrap().unwrap();
        store(&mut open.connection, "INSERT INTO t VALUES (2)").await;
        connector.check_committed(&mut open).await.unwrap();
        let of_writer = open.position.unwrap().note;
        if has_seen_the_log {
            position.note.log = of_writer.log;
        }
        let copy = log::copy(&mut set_up.connection);
        position.copy(copy).await.unwrap();
        assert_eq!(noted(connector), of_writer);
    }
}

/// Says what a writer has written before another one, to the same file.
#[derive(Clone, Copy, PartialEq)]
enum Written {
    Nothing,
    ToAnEarlierLog,
    ToTheLog,
}

/// Two plugins on one file: one copies what the other has written.
#[tokio::test]
async fn a_copy_by_a_writer_that_does_not_know_the_end_of_the_log_is_noted() {
    use Written::{Nothing, ToAnEarlierLog, ToTheLog};
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        for written in [Nothing, ToAnEarlierLog, ToTheLog] {
            let (_directory, database) = database().await;
            let connector = database.connector();
            let mut idle = match written {
                Nothing => connector.open(Role::Writer).await.unwrap(),
                ToAnEarlierLog | ToTheLog => writer_of(connector).await,
            };
            if written == ToAnEarlierLog {
                let copied = log::copy(&mut idle.connection).await.unwrap();
                assert!(copied.is_whole);
            }
            let other = SqliteConnector {
                synchronous,
                ..connector.clone()
            };
            let mut writer = writer_after(&other, "INSERT INTO t VALUES (2)").await;
            let _reader = reader_of(connector).await;
            store(&mut writer.connection, "INSERT INTO t VALUES (3)").await;
            other.check_committed(&mut writer).await.unwrap();
            let of_writer = writer.position.unwrap().note;
            assert!(of_writer.log.frames > 0 && !of_writer.is_copied);

            let position = idle.position.as_mut().unwrap();
            let is_same_log = position.note.log.salts == of_writer.log.salts;
            assert_eq!(is_same_log, written == ToTheLog);
            // An end that a crash may take does not stand for one that is safe.
            let expected = match (written, synchronous) {
                (ToTheLog, Synchronous::Normal) => position.note.clone(),
                _ => of_writer,
            };
            let expected = Note {
                is_copied: true,
                ..expected
            };
            let copy = async {
                // As it is if the process is killed now.
                assert_eq!(noted(connector), expected);
                log::copy(&mut idle.connection).await
            };
            let copied = position.copy(copy).await.unwrap();
            assert!(!copied.is_whole);
            assert_eq!(noted(connector), expected);
        }
    }
}

/// A backup from before these commits would be taken for the database.
#[tokio::test]
async fn a_writer_that_stops_last_keeps_the_number_of_commits_of_others() {
    let (_directory, database) = database().await;
    let connector = database.connector();
    let idle = connector.open(Role::Writer).await.unwrap();
    let writer = writer_of(connector).await;
    let commits = writer.position.as_ref().unwrap().note.commits;
    assert!(idle.position.as_ref().unwrap().note.commits < commits);
    connector.close(writer, Role::Writer).await;
    connector.close(idle, Role::Writer).await;
    assert_eq!(noted(connector).commits, commits);
}

/// Its pages would be checked for nothing at the next start.
#[tokio::test]
async fn a_copy_is_not_noted_for_a_log_that_is_gone() {
    let (_directory, database) = database().await;
    let connector = database.connector();
    let mut writer = writer_of(connector).await;
    let position = writer.position.as_mut().unwrap();
    let copied = position.copy(log::truncate(&mut writer.connection)).await;
    assert!(copied.unwrap().is_emptied);
    let copy = async {
        assert!(noted(connector).log.frames > 0);
        let check = check_log(&connector.location).await;
        assert_eq!(check.unwrap(), LogCheck::Passed);
        log::truncate(&mut writer.connection).await
    };
    assert!(position.copy(copy).await.unwrap().is_whole);
}

/// SQLite copies by its index of the log, and does not look at the header meanwhile.
#[tokio::test]
async fn the_copy_of_a_log_whose_header_is_damaged_is_noted() {
    let (directory, database) = database().await;
    let connector = database.connector();
    let mut writer = writer_of(connector).await;
    let log = std::fs::OpenOptions::new()
        .write(true)
        .open(directory.path().join("some.db-wal"))
        .unwrap();
    log.write_all_at(&[0; 32], 0).unwrap();
    let copy = async {
        assert!(is_noted_as_being_copied(connector));
        Err(SqlError::corrupt("it ends in the middle"))
    };
    let position = writer.position.as_mut().unwrap();
    position.copy(copy).await.unwrap_err();
    assert!(is_noted_as_being_copied(connector));
}

/// The other one may wait for readers.
#[tokio::test]
async fn a_commit_does_not_wait_for_a_copy_by_another_connection() {
    let (_directory, database) = database().await;
    let connector = database.connector();
    let mut writer = writer_of(connector).await;
    writer.position.as_mut().unwrap().checkpoint_at = 1;
    writer.shorten_at = 0;
    let _turn = connector.unfinished_copy.turn().await;
    store(&mut writer.connection, "INSERT INTO t VALUES (2)").await;
    let checked = connector.check_committed(&mut writer);
    let patience = std::time::Duration::from_secs(60);
    let checked = tokio::time::timeout(patience, checked).await;
    checked.expect("it does not wait").unwrap();
    let position = writer.position.unwrap();
    let again = position.before.frames + CHECKPOINT_AGAIN;
    assert_eq!(position.checkpoint_at, again, "a copy was due");
    assert!(writer.shorten_at > 0, "the log was too long");
}
