//! The driver's connection in the hands of the application, and the proof that the transaction has outlived that.

use std::time::Duration;

use actix_persistence_storage_api::{SqlValue, StorageErrorKind, WriterId};
use sqlx::{Column, Row};
use tokio::time::timeout;

use crate::names::of_application;
use crate::{ConnectionOf, Dialect, SqlError, SqlxDatabase};

use super::guard::Guard;
use super::{SqlSession, trouble};

/// The time for which the end of a transaction that failed waits for what the application has left on the connection.
const PATIENCE: Duration = Duration::from_secs(1);

const USE: &str = "the use of the driver's connection";

/// A connection that was lent: what its transaction is recognised by, and what the store depends on in its session.
pub(super) struct Lent {
    guard: Guard,
    session: Vec<Fact>,
}

/// A fact about a session, and its name.
type Fact = (Box<str>, SqlValue);

impl Lent {
    async fn set<D: Dialect>(connection: &mut ConnectionOf<D>) -> Result<Self, SqlError> {
        let session = look::<D>(connection).await?;
        let guard = Guard::set_for_driver::<D>(connection).await?;
        Ok(Self { guard, session })
    }

    /// Returns the facts about the session if the transaction is the one that was lent.
    ///
    /// The look comes first: after a statement that was given up, the answer to the savepoint could be that of another
    /// statement.
    async fn prove<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
    ) -> Result<Vec<Fact>, SqlError> {
        let session = look::<D>(connection).await?;
        self.guard.release::<D>(connection, "").await?;
        Ok(session)
    }

    /// Undoes what was done with the connection, even in a transaction that can only be rolled back; fails unless the
    /// transaction is the one that was lent.
    async fn undo<D: Dialect>(&self, connection: &mut ConnectionOf<D>) -> Result<(), SqlError> {
        self.guard.roll_back_to::<D>(connection).await?;
        look::<D>(connection).await.map(drop)
    }

    /// Fails if the store would go on in another session than it had.
    fn compare(&self, session: &[Fact]) -> Result<(), SqlError> {
        let mut pairs = self.session.iter().zip(session);
        let Some(((name, _), _)) = pairs.find(|(before, after)| before != after) else {
            return Ok(());
        };
        Err(SqlError::refused(
            StorageErrorKind::Extension,
            format!(
                "{USE} left '{name}' of the session changed, on which the store depends; set it back"
            ),
        ))
    }
}

impl<D: Dialect> SqlSession<'_, D> {
    /// Makes the transaction one that can be recognised, before its connection is lent.
    pub(super) async fn lend(&mut self) -> Result<(), SqlError> {
        if self.lent.is_some() {
            return Ok(());
        }
        self.visit.is_in_a_statement(true);
        let lent = Lent::set::<D>(self.connection).await;
        self.visit.is_in_a_statement(false);
        self.lent = Some(lent?);
        self.has_lent = true;
        self.visit.may_change_anything();
        self.visit.is_lent(true);
        Ok(())
    }

    /// Takes the connection back, if the application has it.
    ///
    /// # Errors
    /// If the transaction is not the one that was lent, has failed, or is not what the store can go on with; if the
    /// database does not answer.
    pub(super) async fn take_back(&mut self) -> Result<(), SqlError> {
        let Some(lent) = self.lent.take() else {
            return Ok(());
        };
        self.visit.is_in_a_statement(true);
        let proof = timeout(self.visit.limit(), lent.prove::<D>(self.connection)).await;
        let result = match proof {
            Ok(Ok(session)) => {
                self.is_taken_back();
                lent.compare(&session)
            }
            Ok(Err(error)) => Err(self.not_proven(&lent, error).await),
            Err(_) => Err(SqlError::refused(
                StorageErrorKind::Extension,
                format!("{USE} left a statement that does not end; wait for each of them"),
            )),
        };
        self.visit.is_in_a_statement(false);
        result
    }

    /// Takes the connection back after code that failed, and returns the error to report: trouble with the database
    /// itself stays that, if the driver has told the code of it.
    pub(super) async fn take_back_after(&mut self, error: SqlError) -> SqlError {
        if let Some(lent) = self.lent.take() {
            self.undo(&lent).await;
        }
        match self.has_lent {
            true => trouble::of_database::<D>(error),
            false => error,
        }
    }

    async fn not_proven(&mut self, lent: &Lent, error: SqlError) -> SqlError {
        if trouble::is_gone::<D>(&error) {
            // There is no session to end.
            self.visit.is_lent(false);
            return error;
        }
        let message = match error.reported() {
            Some(_) if self.undo(lent).await => {
                "left the transaction failed, so that it can only be rolled back"
            }
            Some(_) => return self.ended(USE, error),
            None => "left an answer that was not read to its end; wait for each statement",
        };
        SqlError::Refused {
            kind: StorageErrorKind::Extension,
            message: format!("{USE} {message}"),
            source: error.into_source(),
        }
    }

    /// Undoes what was done with the connection, and returns whether that worked: nothing of it is committed then.
    async fn undo(&mut self, lent: &Lent) -> bool {
        let undone = timeout(PATIENCE, lent.undo::<D>(self.connection)).await;
        let is_certain = matches!(undone, Ok(Ok(())));
        if is_certain {
            self.is_taken_back();
        }
        is_certain
    }

    fn is_taken_back(&self) {
        self.visit.is_lent(false);
        if !self.has_committed {
            self.visit.has_committed_nothing();
        }
    }
}

/// Returns what the store depends on in a session.
///
/// # Errors
/// If the answer is not the one to this statement, because others were not read.
async fn look<D: Dialect>(connection: &mut ConnectionOf<D>) -> Result<Vec<Fact>, SqlError> {
    let nonce = WriterId::random().to_string();
    let sql = of_application(D::FACTS_OF_SESSION.replace("{nonce}", &nonce));
    let rows = D::Database::fetch_unprepared(connection, sql).await?;
    let mut facts = Vec::new();
    for row in &rows {
        for (position, column) in row.columns().iter().enumerate() {
            facts.push((column.name().into(), D::read_value(row, position)?));
        }
    }
    match facts.first() {
        Some((_, SqlValue::Text(found))) if **found == *nonce => {
            facts.remove(0);
            Ok(facts)
        }
        _ => Err(SqlError::refused(
            StorageErrorKind::Extension,
            "the answer is that of another statement",
        )),
    }
}
