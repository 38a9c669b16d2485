//! Steps from version to version, tried with versions that are not there yet.

use actix_persistence_sql::{Migration, SqlError, SqlNames, StoreSchema, TableName};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{Connection, SqliteConnection};

use crate::Sqlite;

async fn connection() -> SqliteConnection {
    SqliteConnection::connect(":memory:").await.unwrap()
}

fn schema(steps: &[&'static str]) -> StoreSchema<Sqlite> {
    let tables = vec![TableName::parse("t").unwrap()];
    let steps: Vec<_> = steps
        .iter()
        .copied()
        .map(Migration::in_transaction)
        .collect();
    StoreSchema::new("journal", tables, &steps, SqlNames::new('"', None))
}

fn kind_and_message(error: SqlError) -> (StorageErrorKind, String) {
    match error {
        SqlError::Refused { kind, message, .. } => (kind, message),
        other => unreachable!("SQLite should not be asked: {other:?}"),
    }
}

async fn columns(connection: &mut SqliteConnection) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM pragma_table_info('t')")
        .fetch_one(connection)
        .await
        .unwrap()
}

#[tokio::test]
async fn each_step_runs_once_from_any_version_on() {
    let first = "CREATE TABLE t (a)";
    let second = "ALTER TABLE t ADD COLUMN b; ALTER TABLE t ADD COLUMN c";
    let mut connection = connection().await;
    let (one, two) = (schema(&[first]), schema(&[first, second]));

    assert!(!one.is_current(&mut connection).await.unwrap());
    one.advance(&mut connection).await.unwrap();
    one.advance(&mut connection).await.unwrap();
    assert!(one.is_current(&mut connection).await.unwrap());
    assert_eq!(columns(&mut connection).await, 1);

    assert!(!two.is_current(&mut connection).await.unwrap());
    two.advance(&mut connection).await.unwrap();
    assert!(two.is_current(&mut connection).await.unwrap());
    assert_eq!(columns(&mut connection).await, 3);

    let (kind, message) = kind_and_message(one.is_current(&mut connection).await.unwrap_err());
    assert_eq!(kind, StorageErrorKind::SchemaMismatch);
    assert!(message.contains("newer than version 1"), "{message}");
    one.advance(&mut connection).await.unwrap_err();
}

#[tokio::test]
async fn an_older_version_is_refused_when_nothing_may_be_made() {
    let mut connection = connection().await;
    let schema = schema(&["CREATE TABLE t (a)"]);
    let error = schema.refusal_to_make(&mut connection).await.unwrap();
    let (kind, message) = kind_and_message(error);
    assert_eq!(kind, StorageErrorKind::SchemaMismatch);
    assert!(message.contains("'auto-initialize = true'"), "{message}");
}

#[tokio::test]
async fn a_table_of_another_program_is_left_alone() {
    let mut connection = connection().await;
    sqlx::raw_sql("CREATE TABLE T (their_own)")
        .execute(&mut connection)
        .await
        .unwrap();
    let schema = schema(&["CREATE TABLE t (a)"]);
    let error = schema.advance(&mut connection).await.unwrap_err();
    let (kind, message) = kind_and_message(error);
    assert_eq!(kind, StorageErrorKind::SchemaMismatch);
    assert!(message.contains("choose other table names"), "{message}");
}

#[tokio::test]
async fn a_lost_table_is_named() {
    let mut connection = connection().await;
    let schema = schema(&["CREATE TABLE t (a)"]);
    schema.advance(&mut connection).await.unwrap();
    sqlx::raw_sql("DROP TABLE t")
        .execute(&mut connection)
        .await
        .unwrap();
    let (kind, message) = kind_and_message(schema.is_current(&mut connection).await.unwrap_err());
    assert_eq!(kind, StorageErrorKind::SchemaMismatch);
    assert!(message.contains("the table 't' is missing"), "{message}");
}
