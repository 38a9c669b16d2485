//! Statements of the application within a transaction.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    Effect, ExtensionError, Operation, Session, SessionWork, Sql, SqlRow, SqlValue, StorageError,
    StorageErrorKind,
};
use async_trait::async_trait;
use futures_util::FutureExt;
use sqlx::{Column, Database, Row, SqlStr};
use tokio::time::timeout;

use crate::names::of_application;
use crate::{ConnectionOf, Connections, Connector, Dialect, Fault, Portable, RowOf, classify};

/// What the driver takes for a statement.
type ArgumentsOf<D> = <<D as Dialect>::Database as Database>::Arguments;

/// A transaction that is under way, lent to code of the application.
pub(crate) struct SqlSession<'c, D: Dialect> {
    connection: &'c mut ConnectionOf<D>,
    /// The first statement that failed: nothing may be committed after it, whatever the code makes of it. Some databases
    /// would commit what came before it, others forget everything and say that they committed.
    failed: Option<Fault>,
}

impl<'c, D: Dialect> SqlSession<'c, D> {
    /// On a connection with a transaction.
    pub(crate) fn new(connection: &'c mut ConnectionOf<D>) -> Self {
        Self {
            connection,
            failed: None,
        }
    }

    /// Whether the transaction may be committed, after `what` ended like this.
    ///
    /// Trouble with the database itself stays that: whether to try again is not the application's to say.
    pub(crate) fn end(self, what: &str, result: Result<(), Fault>) -> Result<(), Fault> {
        match (self.failed, result) {
            (None, result) => result,
            (Some(failed), Ok(())) => Err(Fault::Refused {
                kind: StorageErrorKind::Extension,
                message: format!("{what} went on after one of its statements had failed"),
                source: failed.into_source(),
            }),
            (Some(failed), Err(_)) if failed.is_of_the_store() => Err(failed),
            (Some(_), Err(fault)) => Err(fault),
        }
    }

    fn noted<T>(&mut self, result: Result<T, Fault>) -> Result<T, StorageError> {
        result.map_err(|fault| {
            let again = fault.may_be_tried_again::<D>();
            let ends_connection = fault.ends_connections::<D>();
            let error = classify::<D>(Operation::Transact, Effect::NotStored, fault);
            self.failed.get_or_insert(Fault::InSession {
                error: error.clone(),
                again,
                ends_connection,
            });
            error
        })
    }

    fn check_usable(&self) -> Result<(), StorageError> {
        match &self.failed {
            None => Ok(()),
            Some(_) => Err(
                StorageError::new(StorageErrorKind::Extension, Operation::Transact)
                    .not_stored()
                    .with_message("an earlier statement failed, so the transaction can only end"),
            ),
        }
    }
}

#[async_trait]
impl<D: Dialect> Session for SqlSession<'_, D> {
    fn database(&self) -> &'static str {
        D::NAME
    }

    async fn execute_sql(&mut self, sql: Sql, values: Vec<SqlValue>) -> Result<u64, StorageError> {
        self.check_usable()?;
        let result = execute::<D>(self.connection, &sql, values).await;
        self.noted(result)
    }

    async fn select_sql(
        &mut self,
        sql: Sql,
        values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, StorageError> {
        self.check_usable()?;
        let result = select::<D>(self.connection, &sql, values).await;
        self.noted(result)
    }
}

/// Runs code of the application in a transaction of its own, for at most so long.
///
/// # Errors
/// As [`SqlStates::transact`](actix_persistence_storage_api::SqlStates::transact).
///
/// # Cancel safety
/// What was begun goes on to its end.
pub async fn transact<C: Connector>(
    connections: &Connections<C>,
    limit: Duration,
    work: SessionWork,
) -> Result<(), StorageError> {
    const WHAT: &str = "what the application does there";
    connections
        .transaction_once(Operation::Transact, limit, move |connection| {
            Box::pin(async move {
                let mut session = SqlSession::<C::Dialect>::new(connection);
                let result = guarded(WHAT, limit, work.run(&mut session)).await;
                session.end(WHAT, result)
            })
        })
        .await
}

/// Runs code of the application for as long as it may take; what it throws or panics with becomes a fault.
pub(crate) async fn guarded(
    what: &str,
    limit: Duration,
    code: impl Future<Output = Result<(), ExtensionError>>,
) -> Result<(), Fault> {
    let refused = |message| Fault::refused(StorageErrorKind::Extension, message);
    match timeout(limit, AssertUnwindSafe(code).catch_unwind()).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) => Err(Fault::Refused {
            kind: StorageErrorKind::Extension,
            message: format!("{what} failed"),
            source: Some(error),
        }),
        Ok(Err(panic)) => Err(refused(format!("{what} panicked: {}", text_of(&*panic)))),
        Err(_) => Err(refused(format!(
            "{what} did not end within {limit:?}; make it faster or raise 'handler-timeout'"
        ))),
    }
}

/// For a column whose type no value has.
pub fn refuses_type(type_name: &str) -> Fault {
    let message = format!(
        "it has the type {type_name}, for which there is no value; cast it in the statement"
    );
    Fault::refused(StorageErrorKind::Extension, message)
}

/// What a panic said.
pub(crate) fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it did not say why")
}

async fn execute<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: &Sql,
    values: Vec<SqlValue>,
) -> Result<u64, Fault> {
    let (sql, arguments) = prepare::<D>(sql, values)?;
    let result = D::Database::execute(connection, sql, arguments).await?;
    Ok(D::rows_affected(&result))
}

async fn select<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: &Sql,
    values: Vec<SqlValue>,
) -> Result<Vec<SqlRow>, Fault> {
    let (sql, arguments) = prepare::<D>(sql, values)?;
    let rows = D::Database::fetch_all(connection, sql, arguments).await?;
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    let columns: Arc<[Box<str>]> = first
        .columns()
        .iter()
        .map(|column| column.name().into())
        .collect();
    rows.iter()
        .map(|row| to_row::<D>(row, Arc::clone(&columns)))
        .collect()
}

fn prepare<D: Dialect>(
    sql: &Sql,
    values: Vec<SqlValue>,
) -> Result<(SqlStr, ArgumentsOf<D>), Fault> {
    let (text, values) = D::placeholders(sql.as_str(), values)
        .map_err(|message| Fault::refused(StorageErrorKind::Extension, message))?;
    let mut arguments = ArgumentsOf::<D>::default();
    for value in values {
        D::add_value(&mut arguments, value);
    }
    Ok((of_application(text), arguments))
}

fn to_row<D: Dialect>(row: &RowOf<D>, columns: Arc<[Box<str>]>) -> Result<SqlRow, Fault> {
    let values = (0..columns.len()).map(|position| {
        D::read_value(row, position).map_err(|fault| {
            let column = &columns[position];
            fault.about(format_args!("the column '{column}'"))
        })
    });
    let values = values.collect::<Result<_, _>>()?;
    Ok(SqlRow::new(columns, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn message(code: impl Future<Output = Result<(), ExtensionError>>) -> String {
        let result = guarded("the handler", Duration::from_millis(20), code).await;
        match result {
            Err(Fault::Refused { kind, message, .. }) => {
                assert_eq!(kind, StorageErrorKind::Extension);
                message
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn errors_panics_and_hanging_are_told_apart() {
        assert_eq!(
            message(async { Err("no".into()) }).await,
            "the handler failed"
        );
        let panicking = async { panic!("{} is wrong", 7) };
        assert_eq!(message(panicking).await, "the handler panicked: 7 is wrong");
        let hanging = std::future::pending();
        let text = message(hanging).await;
        assert!(
            text.starts_with("the handler did not end within 20ms"),
            "{text}"
        );
    }
}
