//! Defects of sessions.

use std::sync::{Arc, Mutex};

use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, Operation, Session, SessionWork, Sql, SqlRow, SqlValue,
    StateChange, StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use super::defect;
use crate::broken_extensions::{Extended, ExtensionDefect};

/// The rows with what this makes of each of their values.
fn with_values(rows: Vec<SqlRow>, change: impl Fn(SqlValue) -> SqlValue) -> Vec<SqlRow> {
    let changed = |row: SqlRow| {
        let columns = row.columns().map(Into::into).collect();
        SqlRow::new(columns, row.values().iter().cloned().map(&change).collect())
    };
    rows.into_iter().map(changed).collect()
}

defect! {
    /// Gives whole numbers as JSON does.
    GivesIntegersAsFloats,
    select(session, sql, values) {
        let rows = session.select_sql(sql, values).await?;
        Ok(with_values(rows, |value| match value {
            SqlValue::Integer(value) => SqlValue::Integer(value as f64 as i64),
            value => value,
        }))
    }
}

defect! {
    /// Cuts fractions off.
    GivesFloatsAsIntegers,
    select(session, sql, values) {
        let rows = session.select_sql(sql, values).await?;
        Ok(with_values(rows, |value| match value {
            SqlValue::Float(value) => SqlValue::Integer(value as i64),
            value => value,
        }))
    }
}

defect! {
    /// Takes an empty text for none, as Oracle does.
    GivesEmptyTextsAsNull,
    select(session, sql, values) {
        let rows = session.select_sql(sql, values).await?;
        Ok(with_values(rows, |value| match value {
            SqlValue::Text(text) if text.is_empty() => SqlValue::Null,
            value => value,
        }))
    }
}

defect! {
    /// Ends bytes at the first zero, as C does.
    CutsBytes,
    select(session, sql, values) {
        let rows = session.select_sql(sql, values).await?;
        Ok(with_values(rows, |value| match value {
            SqlValue::Bytes(bytes) => {
                SqlValue::from(bytes.split(|byte| *byte == 0).next().unwrap().to_vec())
            }
            value => value,
        }))
    }
}

/// Makes `?` of every `$1` that is not in a text.
fn in_order(sql: &Sql) -> Sql {
    let (mut made, mut is_text, mut is_number) = (String::new(), false, false);
    for character in sql.as_str().chars() {
        is_text ^= character == '\'';
        if is_number && character.is_ascii_digit() {
            continue;
        }
        is_number = character == '$' && !is_text;
        made.push(if is_number { '?' } else { character });
    }
    Sql::assert_safe(made)
}

defect! {
    /// Takes values in their order, whatever their numbers are.
    TakesValuesInTheirOrder,
    execute(session, sql, values) {
        session.execute_sql(in_order(&sql), values).await
    }
}

defect! {
    /// Takes what is written in a text for a value.
    LooksForValuesInTexts,
    execute(session, sql, values) {
        let sql = Sql::assert_safe(sql.as_str().replace('$', "?"));
        session.execute_sql(sql, values).await
    }
}

defect! {
    /// Says of every statement that it changed one row.
    CountsOneRow,
    execute(session, sql, values) {
        session.execute_sql(sql, values).await?;
        Ok(1)
    }
}

/// Commits what ended with an error.
pub(crate) struct CommitsWhatFailed;

#[async_trait]
impl ExtensionDefect for CommitsWhatFailed {
    async fn transact(inner: &Extended, work: SessionWork) -> Result<(), StorageError> {
        let failed = Arc::new(Mutex::new(None));
        let out = Arc::clone(&failed);
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                *out.lock().unwrap() = work.run(session).await.err();
                Ok(())
            })
        });
        inner.sql().transact(work).await?;
        let failed = failed.lock().unwrap().take();
        failed.map_or(Ok(()), |error| {
            let kind = StorageErrorKind::Extension;
            let refused = StorageError::new(kind, Operation::Transact).not_stored();
            Err(refused.with_source(error))
        })
    }
}

/// Returns whether a statement is one that cases let fail.
fn is_to_fail(sql: &Sql) -> bool {
    sql.as_str().contains("there_is_no_such_table")
}

fn failed() -> StorageError {
    StorageError::new(StorageErrorKind::Backend, Operation::Transact).not_stored()
}

/// Goes on after a statement that failed, as if nothing had happened.
pub(crate) struct GoesOnAfterAFailure;

#[async_trait]
impl ExtensionDefect for GoesOnAfterAFailure {
    async fn execute(
        session: &mut dyn Session,
        sql: Sql,
        values: Vec<SqlValue>,
    ) -> Result<u64, StorageError> {
        if is_to_fail(&sql) {
            return Err(failed());
        }
        session.execute_sql(sql, values).await
    }

    async fn select(
        session: &mut dyn Session,
        sql: Sql,
        values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, StorageError> {
        if is_to_fail(&sql) {
            return Err(failed());
        }
        session.select_sql(sql, values).await
    }
}

/// Undoes everything at a `ROLLBACK`, and goes on as if it had not.
pub(crate) struct RollsBackUnawares;

const MARK: &str = "SAVEPOINT before_everything";

#[async_trait]
impl ExtensionDefect for RollsBackUnawares {
    async fn transact(inner: &Extended, work: SessionWork) -> Result<(), StorageError> {
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session.execute(MARK, []).await?;
                work.run(session).await
            })
        });
        inner.sql().transact(work).await
    }

    async fn process(
        handler: &dyn ChangeHandler,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        session.execute(MARK, []).await?;
        handler.process(session, change).await
    }

    async fn execute(
        session: &mut dyn Session,
        sql: Sql,
        values: Vec<SqlValue>,
    ) -> Result<u64, StorageError> {
        if sql.as_str().ends_with("ROLLBACK") {
            return session.execute("ROLLBACK TO before_everything", []).await;
        }
        session.execute_sql(sql, values).await
    }
}

defect! {
    /// Takes a key that is there already for damage.
    TakesRulesForDamage,
    execute(session, sql, values) {
        let done = session.execute_sql(sql, values).await;
        done.map_err(|error| match error.kind() {
            StorageErrorKind::Constraint => {
                StorageError::new(StorageErrorKind::Corrupt, Operation::Transact).not_stored()
            }
            _ => error,
        })
    }
}

/// A future that is pending once.
async fn once() {
    let mut is_first = true;
    std::future::poll_fn(|context| {
        if std::mem::take(&mut is_first) {
            context.waker().wake_by_ref();
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(())
    })
    .await;
}

defect! {
    /// Knows nothing of a statement that was given up.
    ForgetsWhatIsGivenUp,
    execute(session, sql, values) {
        once().await;
        session.execute_sql(sql, values).await
    }
}
