//! The fate of connections after something goes wrong on them.

use std::sync::{Arc, Mutex};

use actix_persistence_sql::{Connections, Migration, SqlNames, StoreSchema, TableName, classify};
use actix_persistence_storage_api::{Effect, Operation, StorageError};
use sqlx::SqlSafeStr;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::*;
use crate::SqliteOptions;
use crate::queries::{FULLFSYNC, SYNCHRONOUS};

const OPERATION: Operation = Operation::WriteMessages;

type Database = Connections<SqliteConnector>;

pub(super) async fn database() -> (TempDir, Arc<Database>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.db");
    let options =
        SqliteOptions::new(path.to_str().unwrap()).with_busy_timeout(Duration::from_millis(200));
    let database = Database::new(SqliteConnector::new(&options).unwrap());
    let step = Migration::in_transaction("CREATE TABLE t (a INTEGER NOT NULL UNIQUE)");
    let table = vec![TableName::parse("t").unwrap()];
    let schema = StoreSchema::new("journal", table, &[step], SqlNames::new('"', None));
    database.initialize(Arc::new(schema), true).await.unwrap();
    (directory, Arc::new(database))
}

async fn run(database: &Database, sql: impl SqlSafeStr) -> Result<(), StorageError> {
    let sql = sql.into_sql_str();
    database
        .transaction(OPERATION, sql, |connection, sql| {
            Box::pin(async move {
                sqlx::raw_sql(sql).execute(connection).await?;
                Ok(())
            })
        })
        .await
}

async fn number(database: &Database, sql: &'static str) -> i64 {
    database
        .read(Operation::ReplayMessages, move |connection| {
            Box::pin(async move { Ok(sqlx::query_scalar(sql).fetch_one(connection).await?) })
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_writer_needs_no_temporary_files() {
    let (_directory, database) = database().await;
    let mut writer = opening::open(database.connector(), Role::Writer)
        .await
        .unwrap();
    let temp_store: i64 = sqlx::query_scalar("PRAGMA temp_store")
        .fetch_one(&mut writer)
        .await
        .unwrap();
    const MEMORY: i64 = 2;
    assert_eq!(temp_store, MEMORY);
}

#[tokio::test]
async fn every_connection_syncs_as_far_as_was_asked_for() {
    let (_directory, database) = database().await;
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        let settings = SqliteConnector {
            synchronous,
            ..database.connector().clone()
        };
        let expected = match synchronous {
            Synchronous::Full => [2, 1],
            Synchronous::Normal => [1, 0],
        };
        let set_up = Role::SetUp { may_create: false };
        for role in [set_up, Role::Writer, Role::Reader] {
            let mut connection = opening::open(&settings, role).await.unwrap();
            let mut found = [0; 2];
            for (pragma, found) in [SYNCHRONOUS, FULLFSYNC].into_iter().zip(&mut found) {
                *found = sqlx::query_scalar(pragma)
                    .fetch_one(&mut connection)
                    .await
                    .unwrap();
            }
            assert_eq!(found, expected, "{synchronous:?} {role:?}");
        }
    }
}

#[tokio::test]
async fn a_full_database_stores_nothing_and_works_again_on_a_fresh_connection() {
    let (_directory, database) = database().await;
    run(&database, "INSERT INTO t VALUES (1)").await.unwrap();
    // The limit is one of the connection, as if the disk were full for a while.
    run(&database, "PRAGMA max_page_count = 1").await.unwrap();
    let fill = "CREATE TABLE filler (a); INSERT INTO filler VALUES (zeroblob(1000000))";
    let error = run(&database, fill).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
    assert!(error.is_not_stored());

    for a in 2..10 {
        let result = database.transaction(OPERATION, a, |connection, a| {
            Box::pin(async move {
                sqlx::query("INSERT INTO t VALUES (?)")
                    .bind(a)
                    .execute(connection)
                    .await?;
                Ok(())
            })
        });
        result.await.unwrap();
    }
    assert_eq!(number(&database, "SELECT count(*) FROM t").await, 9);
}

#[tokio::test]
async fn what_fails_before_the_commit_is_rolled_back_and_certainly_not_stored() {
    let (_directory, database) = database().await;
    let twice = "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); INSERT INTO t VALUES (1)";
    let error = run(&database, twice).await.unwrap_err();
    assert!(error.is_not_stored(), "{error:?}");
    run(&database, "INSERT INTO t VALUES (3)").await.unwrap();
    assert_eq!(number(&database, "SELECT sum(a) FROM t").await, 3);
}

/// A deferred foreign key is the one way to make SQLite refuse a commit without breaking anything; it is also the one
/// reason that leaves no doubt: the transaction stays open.
#[tokio::test]
async fn a_commit_that_a_constraint_refuses_is_certainly_not_stored() {
    let (_directory, database) = database().await;
    let child = "CREATE TABLE child (a INTEGER REFERENCES t (a) DEFERRABLE INITIALLY DEFERRED)";
    run(&database, child).await.unwrap();
    let error = run(&database, "INSERT INTO child VALUES (77)")
        .await
        .unwrap_err();
    assert_eq!(error.effect(), Some(Effect::NotStored), "{error:?}");
    run(&database, "INSERT INTO t VALUES (5)").await.unwrap();
    assert_eq!(number(&database, "SELECT count(*) FROM child").await, 0);
    assert_eq!(number(&database, "SELECT count(*) FROM t").await, 1);
}

#[tokio::test]
async fn a_panic_is_an_error_of_unknown_outcome_and_stores_nothing() {
    let (_directory, database) = database().await;
    let result: Result<(), _> = database
        .transaction(OPERATION, (), |connection, ()| {
            Box::pin(async move {
                sqlx::query("INSERT INTO t VALUES (1)")
                    .execute(connection)
                    .await?;
                panic!("on purpose");
            })
        })
        .await;
    assert_eq!(result.unwrap_err().effect(), Some(Effect::Unknown));
    run(&database, "INSERT INTO t VALUES (2)").await.unwrap();
    assert_eq!(number(&database, "SELECT sum(a) FROM t").await, 2);
}

#[tokio::test]
async fn an_operation_goes_on_to_its_end_when_its_caller_goes_away() {
    let (_directory, database) = database().await;
    let (begun, has_begun) = oneshot::channel();
    let (go_on, may_go_on) = oneshot::channel::<()>();
    let (ended, has_ended) = oneshot::channel();
    let caller = tokio::spawn({
        let database = Arc::clone(&database);
        let channels = Arc::new(Mutex::new(Some((begun, may_go_on, ended))));
        async move {
            let work = database.write(OPERATION, channels, |connection, channels| {
                let (begun, may_go_on, ended) = channels.lock().unwrap().take().unwrap();
                Box::pin(async move {
                    begun.send(()).unwrap();
                    may_go_on.await.unwrap();
                    sqlx::query("INSERT INTO t VALUES (1)")
                        .execute(connection)
                        .await?;
                    ended.send(()).unwrap();
                    Ok(())
                })
            });
            work.await
        }
    });
    has_begun.await.unwrap();
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    go_on.send(()).unwrap();
    has_ended.await.unwrap();
    // The next one waits for the same connection, and so for the commit.
    run(&database, "INSERT INTO t VALUES (2)").await.unwrap();
    assert_eq!(number(&database, "SELECT count(*) FROM t").await, 2);
}

#[tokio::test]
async fn waiting_for_a_connection_ends_with_unavailable() {
    let (_directory, database) = database().await;
    let (begun, has_begun) = oneshot::channel();
    let (go_on, may_go_on) = oneshot::channel::<()>();
    let holder = tokio::spawn({
        let database = Arc::clone(&database);
        let channels = Arc::new(Mutex::new(Some((begun, may_go_on))));
        async move {
            let work = database.write(OPERATION, channels, |_, channels| {
                let (begun, may_go_on) = channels.lock().unwrap().take().unwrap();
                Box::pin(async move {
                    begun.send(()).unwrap();
                    may_go_on.await.unwrap();
                    Ok(())
                })
            });
            work.await
        }
    });
    has_begun.await.unwrap();
    let error = run(&database, "INSERT INTO t VALUES (1)")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable);
    assert!(error.is_not_stored());
    go_on.send(()).unwrap();
    holder.await.unwrap().unwrap();
    run(&database, "INSERT INTO t VALUES (1)").await.unwrap();
}

#[tokio::test]
async fn a_connection_is_used_again_only_after_success() {
    let (_directory, database) = database().await;
    let mark = "CREATE TEMP TABLE IF NOT EXISTS mark (a)";
    let is_marked = "INSERT INTO mark VALUES (1)";
    run(&database, mark).await.unwrap();
    run(&database, is_marked).await.unwrap();
    run(&database, "this is no statement").await.unwrap_err();
    let error = run(&database, is_marked).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::SchemaMismatch, "{error:?}");
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let (_directory, database) = database().await;
    let result: Result<(), _> = database
        .read(Operation::ReplayMessages, |connection| {
            Box::pin(async move {
                sqlx::query("INSERT INTO t VALUES (1)")
                    .execute(connection)
                    .await?;
                Ok(())
            })
        })
        .await;
    assert_eq!(result.unwrap_err().kind(), StorageErrorKind::AccessDenied);
}

#[cfg(unix)]
#[tokio::test]
async fn a_commit_to_a_log_that_was_removed_has_an_unknown_outcome_and_is_saved() {
    let (directory, database) = database().await;
    run(&database, "INSERT INTO t VALUES (1)").await.unwrap();
    let log = directory.path().join("some.db-wal");
    let removed = database.transaction(OPERATION, log.clone(), |connection, log| {
        Box::pin(async move {
            sqlx::raw_sql("INSERT INTO t VALUES (2)")
                .execute(connection)
                .await?;
            std::fs::remove_file(log).unwrap();
            Ok(())
        })
    });
    let error = removed.await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
    assert_eq!(error.effect(), Some(Effect::Unknown));
    assert!(error.to_string().contains("write-ahead log"), "{error}");
    // Without the log: the next connection makes one.
    let copy = directory.path().join("copy.db");
    std::fs::copy(directory.path().join("some.db"), &copy).unwrap();
    let options = SqliteOptions::new(copy.to_str().unwrap());
    let copy = Database::new(SqliteConnector::new(&options).unwrap());
    assert_eq!(number(&copy, "SELECT sum(a) FROM t").await, 3);
    run(&database, "INSERT INTO t VALUES (3)").await.unwrap();
    assert_eq!(number(&database, "SELECT sum(a) FROM t").await, 6);
}

fn kind_of(error: SqlError) -> StorageErrorKind {
    classify::<Sqlite>(Operation::Initialize, Effect::NotStored, error).kind()
}

/// An error of a disk, or a full one, looks to SQLite like a file that is no database, or cannot be opened.
#[tokio::test]
async fn what_the_file_gives_no_reason_for_is_curable_by_waiting() {
    let (directory, database) = database().await;
    let connector = database.connector();
    let path = directory.path().join("other.db");
    let options = SqliteOptions::new(path.to_str().unwrap());
    let other = SqliteConnector::new(&options).unwrap();
    let look = async || opening::open(&other, Role::Writer).await.unwrap_err();

    // Code 14: there is no such file.
    assert_eq!(
        kind_of(other.look_again(look().await)),
        StorageErrorKind::AccessDenied
    );
    assert!(connector.may_pass(&look().await));
    assert_eq!(
        kind_of(connector.look_again(look().await)),
        StorageErrorKind::Unavailable
    );

    // Code 26: it is a letter.
    std::fs::write(&path, "This is a letter, not a database. ".repeat(100)).unwrap();
    let letter = async || match opening::open(&other, Role::Writer).await {
        Ok(mut connection) => opening::check(&mut connection, &other, Role::Writer)
            .await
            .unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(
        kind_of(other.look_again(letter().await)),
        StorageErrorKind::SchemaMismatch
    );
    assert!(connector.may_pass(&letter().await));
    assert_eq!(
        kind_of(connector.look_again(letter().await)),
        StorageErrorKind::Unavailable
    );
}

/// The error of SQLite alone would blame the file or its permissions, and the operator would act on it.
#[tokio::test]
async fn one_error_of_a_disk_is_not_blamed_on_the_file() {
    let (directory, database) = database().await;
    let connector = database.connector();
    let other = |name: &str| {
        let path = directory.path().join(name);
        SqliteConnector::new(&SqliteOptions::new(path.to_str().unwrap())).unwrap()
    };
    std::fs::write(directory.path().join("letter.db"), [b'a'; 4_096]).unwrap();
    let letter = other("letter.db");
    let read_only = async {
        let mut connection = opening::open(connector, Role::Reader).await?;
        sqlx::raw_sql("CREATE TABLE u (a)")
            .execute(&mut connection)
            .await
            .map_err(SqlError::from)
    };
    let unreadable = async {
        let mut connection = opening::open(&letter, Role::Reader).await?;
        opening::check(&mut connection, &letter, Role::Reader).await
    };
    let errors = [
        (8, read_only.await.unwrap_err()),
        (
            14,
            opening::open(&other("missing.db"), Role::Reader)
                .await
                .unwrap_err(),
        ),
        (26, unreadable.await.unwrap_err()),
    ];
    for (code, error) in errors {
        let error = classify::<Sqlite>(OPERATION, Effect::NotStored, connector.look_again(error));
        assert_eq!(error.kind(), StorageErrorKind::Unavailable, "code {code}");
        let text = error.to_string();
        for advice in ["its file is as it should be", "disk is full", "system log"] {
            assert!(text.contains(advice), "code {code}: {text}");
        }
        for wrong in ["name another file", "allow writing", "'url'"] {
            assert!(!text.contains(wrong), "code {code}: {text}");
        }
    }
}

/// A process that closes a file loses all its locks on it, even those that other parts of it took.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_second_look_takes_no_locks_from_other_connections() {
    use std::os::unix::fs::MetadataExt;

    let (directory, database) = database().await;
    let connector = database.connector();
    // The connection that has read stays open.
    assert_eq!(number(&database, "SELECT count(*) FROM t").await, 0);
    let locks = || -> Vec<String> {
        let inodes = ["some.db", "some.db-shm"].map(|name| {
            std::fs::metadata(directory.path().join(name))
                .unwrap()
                .ino()
        });
        let all = std::fs::read_to_string("/proc/locks").unwrap();
        let of_ours = |line: &&str| inodes.iter().any(|ino| line.contains(&format!(":{ino} ")));
        // Without the number of the line.
        let lines = all
            .lines()
            .filter(of_ours)
            .filter_map(|line| line.split_once(": "));
        let mut lines: Vec<_> = lines.map(|(_, lock)| lock.to_owned()).collect();
        lines.sort();
        lines
    };
    let before = locks();
    assert!(!before.is_empty());

    let path = directory.path().join("other.db");
    let other = SqliteConnector::new(&SqliteOptions::new(path.to_str().unwrap())).unwrap();
    // Code 14: there is no such file.
    let missing = opening::open(&other, Role::Writer).await.unwrap_err();
    assert_eq!(
        kind_of(connector.look_again(missing)),
        StorageErrorKind::Unavailable
    );
    assert_eq!(locks(), before);
    // Code 26: it is a letter.
    std::fs::write(&path, "This is a letter, not a database. ".repeat(100)).unwrap();
    let letter = match opening::open(&other, Role::Writer).await {
        Ok(mut connection) => opening::check(&mut connection, &other, Role::Writer)
            .await
            .unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(
        kind_of(connector.look_again(letter)),
        StorageErrorKind::Unavailable
    );
    assert_eq!(locks(), before);
}
