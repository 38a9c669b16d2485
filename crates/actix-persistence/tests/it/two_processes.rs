//! Two applications on one database file.

use std::path::Path;

use actix_persistence::PersistError;
use actix_persistence::prelude::*;
use futures_util::future::join_all;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Row};

use crate::counter::{Count, Counter, Total};

#[actix::test]
async fn whoever_takes_an_id_over_wins_and_the_other_is_told_who() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.db");
    let (one, other) = (
        Persistence::sqlite(&file).await.unwrap(),
        Persistence::sqlite(&file).await.unwrap(),
    );
    let first = one.start(|| Counter::named("1")).unwrap();
    assert_eq!(first.send(Count(1)).await.unwrap().unwrap(), 1);
    let second = other.start(|| Counter::named("1")).unwrap();
    assert_eq!(second.send(Count(10)).await.unwrap().unwrap(), 11);
    let lost = first.send(Count(100)).await.unwrap().unwrap_err();
    let PersistError::Conflict(error) = lost else {
        panic!("{lost:?} is no conflict");
    };
    let conflict = error.sequence_conflict().unwrap();
    assert_ne!(conflict.refused.writer, conflict.stored.writer);
    assert_eq!(conflict.stored.sequence_nr, 2);
    assert_eq!(second.send(Count(20)).await.unwrap().unwrap(), 31);
}

/// Returns every table with the number of its rows, and the number of changes that the file has seen, read around the
/// stores.
async fn contents(file: &Path) -> (Vec<(String, i64)>, i64) {
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    let mut connection = options.connect().await.unwrap();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut rows = Vec::new();
    for table in sqlx::query(tables)
        .fetch_all(&mut connection)
        .await
        .unwrap()
    {
        let name: String = table.get(0);
        let count = AssertSqlSafe(format!("SELECT COUNT(*) FROM \"{name}\""));
        let count = sqlx::query_scalar(count).fetch_one(&mut connection).await;
        rows.push((name, count.unwrap()));
    }
    let commits = "SELECT SUM(seq) FROM sqlite_sequence";
    let commits = sqlx::query_scalar(commits).fetch_one(&mut connection).await;
    (rows, commits.unwrap())
}

#[actix::test]
async fn ten_thousand_actors_start_without_a_write() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bank.db");
    let persistence = Persistence::sqlite(&file).await.unwrap();
    let first = persistence.start(|| Counter::named("first")).unwrap();
    assert_eq!(first.send(Count(1)).await.unwrap().unwrap(), 1);
    let before = contents(&file).await;

    let counters: Vec<_> = (0..10_000)
        .map(|number| {
            let name = number.to_string();
            persistence.start(move || Counter::named(&name)).unwrap()
        })
        .collect();
    let recovered = join_all(counters.iter().map(|counter| counter.send(Total))).await;
    assert!(recovered.into_iter().all(|total| total.unwrap() == 0));
    assert_eq!(contents(&file).await, before);

    assert_eq!(counters[7].send(Count(1)).await.unwrap().unwrap(), 1);
    assert_ne!(contents(&file).await, before, "a write is seen");
}
