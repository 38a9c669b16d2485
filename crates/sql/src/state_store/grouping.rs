//! Changes on their way into the database: one, or several in one transaction.

use std::collections::HashMap;
use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeEvent, CurrentState, Effect, Operation, PersistenceId, Revision, RevisionConflict,
    StateChange, StateStore, StateUpdate, StateWrite, StorageError, StorageErrorKind,
};

use super::columns::Bound;
use super::entities::Entity;
use super::guilty::Guilty;
use super::state_row::{Content, StateRow};
use super::together;
use super::write::{self, Accompaniment, Change, Rule, Written};
use super::{Company, SqlStateStore, refused};
use crate::connection::{detached, work_on};
use crate::turns::Turn;
use crate::values::to_integer;
use crate::{Dialect, Settings, classify};

/// A change that the database may be asked to make.
struct Prepared<D: Dialect> {
    change: Change<D>,
    operation: Operation,
    /// The revision on which it follows.
    expected: Revision,
}

/// Changes that belong to one call, and what is found out about them.
struct Making<D: Dialect> {
    operation: Operation,
    changes: Arc<[Change<D>]>,
    guilty: Arc<Guilty>,
    turn: Arc<Turn>,
}

impl<D: Dialect> Making<D> {
    /// Returns some of the changes, with the same turn.
    fn of(&self, numbers: &[usize]) -> Self {
        let changes = numbers.iter().map(|&number| self.changes[number].clone());
        Self {
            operation: self.operation,
            changes: changes.collect(),
            guilty: Arc::default(),
            turn: Arc::clone(&self.turn),
        }
    }
}

impl<D: Dialect> SqlStateStore<D> {
    /// Makes one change, with the change handler of its type.
    pub(super) async fn write(&self, change: StateWrite) -> Result<(), StorageError> {
        let entity = self.entities.of(change.persistence_id());
        let Some(handling) = self.handling(entity) else {
            let outcomes = self.write_together(vec![change]).await?;
            return outcomes.into_iter().collect();
        };
        let Prepared {
            change,
            operation,
            expected,
        } = self.prepare(change).await?;
        let id = change.row.id.clone();
        let turn = self.turns.take([&id].into_iter()).await;
        let (rule, journal) = (self.rule(), self.change_events.clone());
        let visit = handling.visit.clone();
        let work = work_on::<D, _, _, _>(move |connection, change: Arc<Change<D>>, opening| {
            // Until the work is dropped, which is when it has ended.
            let _ = &turn;
            let (handling, journal) = (handling.clone(), journal.clone());
            Box::pin(async move {
                let with = Accompaniment {
                    handling: &handling,
                    journal: journal.as_deref(),
                };
                write::write_with_handler::<D>(connection, &change, rule, with, opening).await
            })
        });
        let change = Arc::new(change);
        let connections = Arc::clone(&self.connections);
        let numbers = self.late_numbers.clone();
        // What a handler has committed is completed even if the caller waits no longer.
        let until_then = numbers.keep_open();
        let written = detached(operation, async move {
            let input = Arc::clone(&change);
            let begin = match change.event {
                Some(_) => D::BEGIN_STORING,
                None => D::BEGIN,
            };
            let written = connections
                .transaction_with(operation, visit.clone(), begin, input, work)
                .await;
            if written.is_err() && visit.may_have_committed() {
                let Change {
                    statements, row, ..
                } = &*change;
                numbers.complete(statements, &row.id, &until_then).await;
            }
            written
        });
        let written = written.await;
        let written = written.map_err(|error| error.with_persistence_id(id.clone()))?;
        outcome(written, operation, id, expected)
    }

    /// Makes changes without handlers in one transaction, or in one statement if it is one.
    ///
    /// Returns an outcome for each. A change that the database itself refuses, or for whose row it waits in vain, fails all; the
    /// error names it.
    pub(super) async fn write_together(
        &self,
        changes: Vec<StateWrite>,
    ) -> Result<Vec<Result<(), StorageError>>, StorageError> {
        let mut outcomes = Vec::with_capacity(changes.len());
        let mut prepared = Vec::with_capacity(changes.len());
        let mut asked = Vec::with_capacity(changes.len());
        for change in changes {
            match self.prepare(change).await {
                Ok(Prepared {
                    change,
                    operation,
                    expected,
                }) => {
                    asked.push((outcomes.len(), operation, change.row.id.clone(), expected));
                    prepared.push(change);
                    outcomes.push(Ok(()));
                }
                Err(error) => outcomes.push(Err(error)),
            }
        }
        if prepared.is_empty() {
            return Ok(outcomes);
        }
        let turn = self.turns.take(asked.iter().map(|(_, _, id, _)| id)).await;
        let making = Making {
            operation: asked[0].1,
            changes: Arc::from(prepared),
            guilty: Arc::default(),
            turn: Arc::new(turn),
        };
        let written = self.make(&making).await;
        let written = written.map_err(|error| match asked.as_slice() {
            [(_, _, id, _)] => error.with_persistence_id(id.clone()),
            _ => making.guilty.named_in(error),
        })?;
        let is_doubtful = |number: &usize| {
            let expected = asked[*number].3;
            written[*number] == Written::Conflict { found: expected }
        };
        let doubtful: Vec<usize> = (0..asked.len()).filter(is_doubtful).collect();
        let mut again = match doubtful.is_empty() {
            true => HashMap::new(),
            false => self.make_again(&making, &doubtful).await,
        };
        for (number, (place, operation, id, expected)) in asked.into_iter().enumerate() {
            let written = again.remove(&number).unwrap_or(Ok(written[number]));
            outcomes[place] = match written {
                Ok(written) => outcome(written, operation, id, expected),
                Err(error) => Err(error.with_persistence_id(id)),
            };
        }
        Ok(outcomes)
    }

    /// Makes changes once more that lost to a revision that is the expected one: their row may be as expected by now, or others
    /// skip it and report no error.
    ///
    /// All of them in one transaction, so that a call takes no longer for many; if that fails and stored nothing, each by
    /// itself, so that none fails for another.
    async fn make_again(
        &self,
        making: &Making<D>,
        doubtful: &[usize],
    ) -> HashMap<usize, Result<Written, StorageError>> {
        let together = self.make_one_by_one(&making.of(doubtful)).await;
        match together {
            Err(error) if doubtful.len() > 1 && error.is_not_stored() => {
                let mut alone = HashMap::with_capacity(doubtful.len());
                for &number in doubtful {
                    let written = self.make_one_by_one(&making.of(&[number])).await;
                    alone.insert(number, written.map(|written| written[0]));
                }
                alone
            }
            together => {
                let of_each = doubtful.iter().enumerate().map(|(place, &number)| {
                    let written = together.as_ref().map(|written| written[place]);
                    (number, written.map_err(StorageError::clone))
                });
                of_each.collect()
            }
        }
    }

    /// Makes changes by statements that they share, if they can, and else, or if the database refuses any of them, each by one of its
    /// own: that shows which one it refuses.
    async fn make(&self, making: &Making<D>) -> Result<Vec<Written>, StorageError> {
        let Some(tables) = together::tables_of(&making.changes) else {
            return self.make_one_by_one(making).await;
        };
        let company = match tables {
            1 => Company::None,
            _ => Company::Others,
        };
        let (turn, noted) = (Arc::clone(&making.turn), Arc::clone(&making.guilty));
        let work = work_on::<D, _, _, _>(move |connection, changes: Arc<[Change<D>]>, opening| {
            // Until the work is dropped, which is when it has ended.
            let _ = &turn;
            let guilty = Arc::clone(&noted);
            Box::pin(async move {
                together::write_together::<D>(connection, &changes, opening, &guilty).await
            })
        });
        let changes = Arc::clone(&making.changes);
        match self.run(making.operation, company, changes, work).await {
            Err(error) if making.guilty.is_any() && error.is_not_stored() => {
                tracing::debug!(%error, "making one by one the changes of which the database refuses some");
                self.make_one_by_one(making).await
            }
            written => written,
        }
    }

    /// Makes the changes in one transaction, each by a statement of its own.
    async fn make_one_by_one(&self, making: &Making<D>) -> Result<Vec<Written>, StorageError> {
        let company = match &*making.changes {
            [Change { event: None, .. }] => Company::None,
            _ => Company::Others,
        };
        let (rule, journal) = (self.rule(), self.change_events.clone());
        let (turn, noted) = (Arc::clone(&making.turn), Arc::clone(&making.guilty));
        let work = work_on::<D, _, _, _>(move |connection, changes: Arc<[Change<D>]>, opening| {
            let _ = &turn;
            let (journal, guilty) = (journal.clone(), Arc::clone(&noted));
            Box::pin(async move {
                let journal = journal.as_deref();
                write::write_all::<D>(connection, &changes, rule, journal, opening, &guilty).await
            })
        });
        let changes = Arc::clone(&making.changes);
        self.run(making.operation, company, changes, work).await
    }

    /// Checks all that can be known before the database is asked.
    async fn prepare(&self, change: StateWrite) -> Result<Prepared<D>, StorageError> {
        let operation = change.operation();
        let (id, revision, content, event) = match change {
            StateWrite::Upsert(update) => {
                self.check(&update)?;
                let content = Content::live(update.payload, update.tags);
                let event = update.change_event;
                (update.persistence_id, update.revision, content, event)
            }
            StateWrite::Delete(delete) => {
                let (content, event) = (Content::tombstone(), delete.change_event);
                (delete.persistence_id, delete.revision, content, event)
            }
        };
        if let Some(event) = &event {
            self.check_event(operation, &id, event)?;
        }
        let Some(expected) = revision.checked_sub(1) else {
            return Err(StorageError::invalid_revision(operation, id));
        };
        let Some(number) = to_integer(revision) else {
            return Err(self.beyond(operation, id, expected).await);
        };
        let entity = self.entities.of(&id);
        let Bound { statements, values } = self.bind(entity, operation, &id, revision, &content)?;
        let shares_statements = self.rule() == Rule::TheOneBefore
            && event.is_none()
            && entity.columns.is_empty()
            && entity.handler.is_none();
        Ok(Prepared {
            change: Change {
                statements,
                queries: shares_statements.then(|| Arc::clone(&entity.table.queries)),
                row: StateRow::new(id, number, content, values),
                event,
            },
            operation,
            expected,
        })
    }

    /// Returns the values of the application's columns.
    fn bind(
        &self,
        entity: &Entity<D>,
        operation: Operation,
        id: &PersistenceId,
        revision: Revision,
        content: &Content,
    ) -> Result<Bound, StorageError> {
        if entity.columns.is_empty() {
            return Ok(Bound {
                statements: Arc::clone(&entity.statements),
                values: Vec::new(),
            });
        }
        let change = StateChange::new(id, revision, content.kind());
        entity.columns.bind(&change).map_err(|error| {
            classify::<D>(operation, Effect::NotStored, error).with_persistence_id(id.clone())
        })
    }

    fn check_event(
        &self,
        operation: Operation,
        id: &PersistenceId,
        event: &ChangeEvent,
    ) -> Result<(), StorageError> {
        let Some(journal) = &self.change_events else {
            return Err(StorageError::no_change_events(operation, id.clone()));
        };
        match journal.refusal(event) {
            None => Ok(()),
            Some((kind, message)) => Err(refused(kind, operation, id.clone(), message)),
        }
    }

    /// Returns the error for a revision that no database can count to.
    async fn beyond(
        &self,
        operation: Operation,
        id: PersistenceId,
        expected: Revision,
    ) -> StorageError {
        if self.rule() == Rule::TheOneBefore
            && let Ok(CurrentState {
                revision: found, ..
            }) = self.get(&id).await
            && found != expected
        {
            let conflict = RevisionConflict { expected, found };
            return StorageError::from_revision_conflict(operation, id, conflict);
        }
        let message = format!("no revision is above {}", i64::MAX);
        refused(StorageErrorKind::Unsupported, operation, id, message)
    }

    fn check(&self, update: &StateUpdate) -> Result<(), StorageError> {
        let refuse = |kind, message| {
            let id = update.persistence_id.clone();
            Err(refused(kind, Operation::UpsertState, id, message))
        };
        let limit = self.options.store().max_state_bytes;
        let tags: usize = update.tags.iter().map(|tag| tag.len()).sum();
        if update.payload.len().saturating_add(tags) > limit {
            let message = format!(
                "it has more than {limit} bytes with its tags; make it smaller or raise 'max-state-bytes'"
            );
            return refuse(StorageErrorKind::TooLarge, message);
        }
        match (
            update.refusal(),
            D::refuses(&self.options, &update.payload.bytes),
        ) {
            (Some(error), _) => Err(error),
            (None, Some(message)) => refuse(StorageErrorKind::Unsupported, message),
            (None, None) => Ok(()),
        }
    }
}

fn outcome(
    written: Written,
    operation: Operation,
    id: PersistenceId,
    expected: Revision,
) -> Result<(), StorageError> {
    match written {
        Written::Stored => Ok(()),
        Written::Conflict { found } => {
            let conflict = RevisionConflict { expected, found };
            Err(StorageError::from_revision_conflict(
                operation, id, conflict,
            ))
        }
    }
}
