//! Statements of the application within a transaction.

mod all_columns;
mod guard;
mod lending;
mod statement;
mod trouble;

use std::any::Any;
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    Effect, ExtensionError, Operation, Session, SessionWork, Sql, SqlRow, SqlValue, StorageError,
    StorageErrorKind,
};
use async_trait::async_trait;
use futures_util::FutureExt;
use sqlx::{Column, Database, Row, SqlSafeStr, SqlStr};
use tokio::time::timeout;

use crate::connection::Visit;
use crate::names::of_application;
use crate::{
    ConnectionOf, Connections, Connector, Dialect, Driver, RowOf, SqlError, SqlxDatabase, classify,
};

use guard::Guard;
use lending::Lent;
pub(crate) use statement::{Kind, kind_of};

/// The arguments that the driver takes for a statement.
type ArgumentsOf<D> = <<D as Driver>::Database as Database>::Arguments;

/// A transaction that is under way, lent to code of the application.
///
/// A [`Guard`] proves in the end that the transaction is still the one that was lent. Where statements about rows end no
/// transaction without an error, it is set for the other statements alone, and for the driver's connection.
pub(crate) struct SqlSession<'c, D: Dialect> {
    connection: &'c mut ConnectionOf<D>,
    visit: Visit,
    may_define: bool,
    guard: Option<Guard>,
    /// The driver's connection, while the application has it.
    lent: Option<Lent>,
    /// True if the application had it.
    has_lent: bool,
    /// The first statement that failed: nothing may be committed after it, whatever the code makes of it. Some databases
    /// would commit what came before it, others forget everything and say that they committed.
    failed: Option<SqlError>,
    /// True if a statement has committed what came before it.
    has_committed: bool,
    /// The hashes of the statements that have run, as the driver keeps them: by their texts and the types of their values.
    statements: HashSet<u64>,
}

impl<'c, D: Dialect> SqlSession<'c, D> {
    /// Lends the transaction of a connection.
    ///
    /// `may_define` is true if statements may run that define tables and so commit, on a database where they do: never
    /// where the store itself has changed something.
    ///
    /// # Errors
    /// If the database does not answer.
    pub(crate) async fn begin(
        connection: &'c mut ConnectionOf<D>,
        visit: &Visit,
        may_define: bool,
    ) -> Result<Self, SqlError> {
        Self::begin_with(connection, visit, may_define, "").await
    }

    /// Lends the transaction as [`begin`](Self::begin) does, after a text that sets something for it.
    pub(crate) async fn begin_with(
        connection: &'c mut ConnectionOf<D>,
        visit: &Visit,
        may_define: bool,
        settings: &str,
    ) -> Result<Self, SqlError> {
        let before = format!("{}{settings}", D::BEFORE_APPLICATION);
        let guard = match D::ROWS_MAY_END_TRANSACTIONS {
            true => Some(Guard::set::<D>(connection, &before).await?),
            false => None,
        };
        // An attempt before this one may have met its end in a statement.
        visit.is_in_a_statement(false);
        visit.is_lent(false);
        Ok(Self {
            connection,
            visit: visit.clone(),
            may_define,
            guard,
            lent: None,
            has_lent: false,
            failed: None,
            has_committed: false,
            statements: HashSet::new(),
        })
    }

    /// Fails if the transaction must not be committed, after `what` ended with this result. Statements of the store may follow.
    ///
    /// Trouble with the database itself stays that: whether to try again is not the application's to say.
    pub(crate) async fn end(
        self,
        what: &str,
        result: Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        self.end_and(D::AFTER_APPLICATION, what, result).await
    }

    /// Fails as [`end`](Self::end) does; only the end of the transaction may follow, and that takes back its settings.
    pub(crate) async fn end_last(
        self,
        what: &str,
        result: Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        self.end_and("", what, result).await
    }

    async fn end_and(
        mut self,
        then: &str,
        what: &str,
        result: Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        match self.verdict(what, result) {
            Ok(()) => self.take_back().await?,
            Err(error) => return Err(self.take_back_after(error).await),
        }
        match self.guard.take() {
            Some(guard) => self.check(guard, then, what).await,
            None => Ok(()),
        }
    }

    /// Fails if the transaction is no longer the one in which the savepoint was set.
    async fn check(&mut self, guard: Guard, then: &str, what: &str) -> Result<(), SqlError> {
        match guard.release::<D>(self.connection, then).await {
            // It ended with the session, which is not the application's doing.
            Err(error) if error.ends_connections::<D>() => Err(error),
            Err(error) if error.reported().is_some() => Err(self.ended(what, error)),
            result => result,
        }
    }

    fn verdict(&mut self, what: &str, result: Result<(), SqlError>) -> Result<(), SqlError> {
        match (self.failed.take(), result) {
            (None, Ok(())) if self.visit.has_given_up_a_statement() => Err(SqlError::refused(
                StorageErrorKind::Extension,
                format!(
                    "{what} gave up one of its statements before that had ended; wait for each of them"
                ),
            )),
            (None, result) => result,
            (Some(failed), Ok(())) => Err(SqlError::Refused {
                kind: StorageErrorKind::Extension,
                message: format!("{what} went on after one of its statements had failed"),
                source: failed.into_source(),
            }),
            (Some(failed), Err(_)) if failed.is_of_the_store() => Err(failed),
            (Some(_), Err(error)) => Err(error),
        }
    }

    /// Notes that a statement is run, and returns whether none of this text and these types of values was before.
    fn is_new(&mut self, sql: &Sql, values: &[SqlValue]) -> bool {
        let types: Vec<_> = values.iter().map(mem::discriminant).collect();
        let statement = (sql.as_str(), types);
        let hash = self.statements.hasher().hash_one(statement);
        self.statements.insert(hash)
    }

    /// Runs what is a statement of this text, and looks whether the transaction is there afterwards where it may not be.
    async fn run<T>(
        &mut self,
        sql: &Sql,
        is_new: bool,
        statement: impl AsyncFnOnce(&mut ConnectionOf<D>) -> Result<T, SqlError>,
    ) -> Result<T, StorageError> {
        self.check_usable()?;
        let taken_back = self.take_back().await;
        self.noted(taken_back)?;
        let kind = kind_of(sql.as_str(), D::QUOTING, D::DEFINITIONS_COMMIT);
        if let Some(message) = self.refusal(kind) {
            return self.noted(Err(SqlError::refused(StorageErrorKind::Extension, message)));
        }
        if kind != Kind::Rows {
            self.visit.may_change_anything();
        }
        self.visit.is_in_a_statement(true);
        let result = async {
            match kind {
                Kind::Rows => statement(self.connection).await,
                Kind::Commits => {
                    let value = statement(self.connection).await?;
                    self.begin_again().await?;
                    Ok(value)
                }
                _ => self.run_guarded(statement).await,
            }
        };
        let result = result.await;
        self.visit.is_in_a_statement(false);
        self.noted(match is_new {
            true => result,
            false => result.map_err(SqlError::after_the_same_statement::<D>),
        })
    }

    fn refusal(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::OfTransactions => Some(
                "the statement begins or ends transactions, and the one it runs in is the store's; leave it out",
            ),
            Kind::OfSessions => Some(
                "the statement changes the session, which is the store's; set it for the database or the user instead",
            ),
            Kind::Streams => Some(
                "the statement sends or takes rows beside its answer; use INSERT or SELECT in its place",
            ),
            Kind::Commits if !self.may_define => Some(
                "on this database the statement commits what came before it; run it where no state is being stored, as \
                 in a transaction of the application",
            ),
            Kind::Rows | Kind::Commits | Kind::Other => None,
        }
    }

    /// Begins again after a statement that has committed, itself and what came before.
    async fn begin_again(&mut self) -> Result<(), SqlError> {
        self.has_committed = true;
        D::Database::run(self.connection, D::BEGIN.into_sql_str()).await?;
        self.guard = Some(Guard::set::<D>(self.connection, D::BEFORE_APPLICATION).await?);
        Ok(())
    }

    /// Runs a statement that may end the transaction within a savepoint of its own, so that those of the application stay.
    async fn run_guarded<T>(
        &mut self,
        statement: impl AsyncFnOnce(&mut ConnectionOf<D>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let guard = Guard::set::<D>(self.connection, "").await?;
        let value = statement(self.connection).await?;
        self.check(guard, "", "a statement").await?;
        if !self.has_committed {
            self.visit.has_committed_nothing();
        }
        Ok(value)
    }

    /// Returns the error to report when the savepoint is gone.
    fn ended(&self, what: &str, error: SqlError) -> SqlError {
        self.visit.may_change_anything();
        SqlError::Refused {
            kind: StorageErrorKind::Extension,
            message: format!(
                "{what} ended the transaction, which is the store's: what came before may be stored, without what belongs \
                 to it"
            ),
            source: error.into_source(),
        }
    }

    /// Returns the effect if the transaction is not committed.
    fn effect(&self) -> Effect {
        match self.visit.may_have_committed() {
            true => Effect::Unknown,
            false => Effect::NotStored,
        }
    }

    fn noted<T>(&mut self, result: Result<T, SqlError>) -> Result<T, StorageError> {
        result.map_err(|error| {
            let again = error.may_be_tried_again::<D>();
            let ends_connection = error.ends_connections::<D>();
            let of_rows = error.is_of_rows::<D>();
            let error = classify::<D>(Operation::Transact, self.effect(), error);
            self.failed.get_or_insert(SqlError::InSession {
                error: error.clone(),
                again,
                ends_connection,
                of_rows,
            });
            error
        })
    }

    fn check_usable(&self) -> Result<(), StorageError> {
        let message = match &self.failed {
            Some(_) => "an earlier statement failed, so the transaction can only end",
            None if self.visit.has_given_up_a_statement() => {
                "an earlier statement was given up before it had ended, so the transaction can only end"
            }
            None => return Ok(()),
        };
        Err(
            StorageError::new(StorageErrorKind::Extension, Operation::Transact)
                .with_effect(self.effect())
                .with_message(message),
        )
    }
}

#[async_trait]
impl<D: Dialect> Session for SqlSession<'_, D> {
    fn database(&self) -> &'static str {
        D::NAME
    }

    async fn execute_sql(&mut self, sql: Sql, values: Vec<SqlValue>) -> Result<u64, StorageError> {
        let is_new = self.is_new(&sql, &values);
        let statement = async |connection: &mut ConnectionOf<D>| {
            all_columns::execute::<D>(connection, &sql, values).await
        };
        self.run(&sql, is_new, statement).await
    }

    async fn select_sql(
        &mut self,
        sql: Sql,
        values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, StorageError> {
        let is_new = self.is_new(&sql, &values);
        let statement = async |connection: &mut ConnectionOf<D>| {
            all_columns::select::<D>(connection, &sql, values).await
        };
        self.run(&sql, is_new, statement).await
    }

    async fn lend_connection(&mut self) -> Result<&mut (dyn Any + Send), StorageError> {
        self.check_usable()?;
        let lent = self.lend().await;
        self.noted(lent)?;
        Ok(self.connection)
    }
}

/// Runs code of the application in a transaction of its own, for at most `limit`.
///
/// # Errors
/// As [`SqlStates::transact`](actix_persistence_storage_api::SqlStates::transact).
///
/// # Cancel safety
/// A transaction that was begun goes on to its end.
pub async fn transact<C: Connector>(
    connections: &Connections<C>,
    limit: Duration,
    work: SessionWork,
) -> Result<(), StorageError> {
    const WHAT: &str = "what the application does there";
    let visit = Visit::of(limit);
    connections
        .transaction_once(Operation::Transact, visit.clone(), move |connection| {
            Box::pin(async move {
                let mut session = SqlSession::<C::Dialect>::begin(connection, &visit, true).await?;
                let result = guarded(WHAT, limit, work.run(&mut session)).await;
                session.end_last(WHAT, result).await
            })
        })
        .await
}

/// Runs code of the application for as long as it may take; what it throws or panics with becomes an error.
pub(crate) async fn guarded(
    what: &str,
    limit: Duration,
    code: impl Future<Output = Result<(), ExtensionError>>,
) -> Result<(), SqlError> {
    let refused = |message| SqlError::refused(StorageErrorKind::Extension, message);
    match timeout(limit, AssertUnwindSafe(code).catch_unwind()).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) => Err(SqlError::Refused {
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

/// Returns the error for a column whose type no value has.
pub fn refuses_type(type_name: &str) -> SqlError {
    let message = format!(
        "it has the type {type_name}, for which there is no value; cast it in the statement"
    );
    SqlError::refused(StorageErrorKind::Extension, message)
}

/// Returns the message of a panic.
pub(crate) fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it did not say why")
}

pub(crate) async fn execute<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: &Sql,
    values: Vec<SqlValue>,
) -> Result<u64, SqlError> {
    let (sql, arguments) = prepare::<D>(sql, values)?;
    let result = D::Database::execute(connection, sql, arguments).await?;
    Ok(D::rows_affected(&result))
}

pub(crate) async fn select<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: &Sql,
    values: Vec<SqlValue>,
) -> Result<Vec<SqlRow>, SqlError> {
    let (sql, arguments) = prepare::<D>(sql, values)?;
    let rows = D::Database::fetch_all(connection, sql, arguments).await?;
    values_of::<D>(&rows)
}

fn values_of<D: Dialect>(rows: &[RowOf<D>]) -> Result<Vec<SqlRow>, SqlError> {
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    let columns: Arc<[Box<str>]> = first
        .columns()
        .iter()
        .map(|column| column.name().into())
        .collect();
    if !rows.iter().all(|row| has_columns::<D>(row, &columns)) {
        return Err(SqlError::refused(
            StorageErrorKind::Extension,
            "the text returns rows of several kinds; run one statement at a time",
        ));
    }
    rows.iter()
        .map(|row| to_row::<D>(row, Arc::clone(&columns)))
        .collect()
}

/// Returns whether a row has these columns. Several statements in one text, and procedures, may return rows with other
/// columns after the first ones.
fn has_columns<D: Dialect>(row: &RowOf<D>, columns: &[Box<str>]) -> bool {
    let names = row.columns().iter().map(Column::name);
    names.eq(columns.iter().map(|name| &**name))
}

fn prepare<D: Dialect>(
    sql: &Sql,
    values: Vec<SqlValue>,
) -> Result<(SqlStr, ArgumentsOf<D>), SqlError> {
    if sql.as_str().contains('\0') {
        // Databases end a text there, and SQLite's driver never comes to its end.
        return Err(SqlError::refused(
            StorageErrorKind::Extension,
            "the text of the statement holds NUL; give it as a value",
        ));
    }
    let (text, values) = D::placeholders(sql.as_str(), values)
        .map_err(|message| SqlError::refused(StorageErrorKind::Extension, message))?;
    let mut arguments = ArgumentsOf::<D>::default();
    for value in values {
        D::add_value(&mut arguments, value);
    }
    Ok((of_application(text), arguments))
}

fn to_row<D: Dialect>(row: &RowOf<D>, columns: Arc<[Box<str>]>) -> Result<SqlRow, SqlError> {
    let values = (0..columns.len()).map(|position| {
        D::read_value(row, position).map_err(|error| {
            let column = &columns[position];
            error.about(format_args!("the column '{column}'"))
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
            Err(SqlError::Refused { kind, message, .. }) => {
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
