//! Storing a state at the revision that follows, in the transaction or the statement of the caller.

use actix_persistence_storage_api::{
    ChangeEvent, ChangeKind, PersistenceId, Revision, StateChange, StorageErrorKind,
};
use sqlx::SqlStr;

use crate::connection::Visit;
use crate::row::get_number;
use crate::session::{SqlSession, guarded};
use crate::values::Values;
use crate::{ConnectionOf, Dialect, Fault, Portable, StateStatements};

use super::change_events::ChangeEvents;
use super::entities::Handler;
use super::state_row::StateRow;

/// The stored revisions that a write may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// That on which it follows; at revision 1, none may be stored.
    TheOneBefore,
    /// Any, and none.
    Any,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It is stored.
    Stored,
    /// Nothing was changed, because another revision is stored.
    Conflict { found: Revision },
}

/// The number of attempts at a write that fails although nothing is in its way: each time another write must have come
/// between.
const ATTEMPTS: usize = 10;

/// The work that accompanies a change, in the transaction that stores it.
pub(super) struct Accompaniment<'a, D: Dialect> {
    pub(super) handling: Option<&'a Handling>,
    pub(super) event: Option<(&'a ChangeEvents<D>, &'a ChangeEvent)>,
}

/// Stores a row, lets a handler take note of that, tells the journal, and gives the row its place in the order of commits.
///
/// The handler comes first, because what follows may hold locks that many wait for.
pub(super) async fn write_state<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    row: &StateRow,
    rule: Rule,
    with: Accompaniment<'_, D>,
) -> Result<Written, Fault> {
    let written = write_row::<D>(connection, statements, row, rule).await?;
    if written == Written::Stored {
        if let Some(handling) = with.handling {
            let revision = u64::try_from(row.revision).expect("no revision is negative");
            let change = StateChange::new(&row.id, revision, row.content.kind());
            handling.run::<D>(connection, &change).await?;
        }
        if let Some((journal, event)) = with.event {
            journal
                .store(connection, &row.id, row.revision, event)
                .await?;
        }
        number::<D>(connection, statements, &row.id).await?;
    }
    Ok(written)
}

/// Removes the row of an id, lets a handler take note of that, and tells whether there was one.
pub(super) async fn remove<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    id: &PersistenceId,
    handler: Option<&Handling>,
) -> Result<bool, Fault> {
    let revision = match handler {
        Some(_) => find_revision::<D>(connection, statements, id).await?,
        None => None,
    };
    let mut values = Values::<D>::with_capacity(1);
    values.id(id);
    let removed = execute::<D>(connection, statements.remove.clone(), values).await? > 0;
    if let Some(handler) = handler.filter(|_| removed) {
        let change = StateChange::new(id, revision.unwrap_or_default(), ChangeKind::Removed);
        handler.run::<D>(connection, &change).await?;
    }
    Ok(removed)
}

/// A handler, and how it may run.
#[derive(Clone, Debug)]
pub(super) struct Handling {
    pub(super) handler: Handler,
    pub(super) visit: Visit,
}

impl Handling {
    async fn run<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
        change: &StateChange<'_>,
    ) -> Result<(), Fault> {
        let Handler { code, name } = &self.handler;
        // Where such a statement commits, it would commit the state without its place in the order of commits.
        let mut session = SqlSession::<D>::begin(connection, &self.visit, false).await?;
        let result = guarded(name, self.visit.limit(), async {
            code.process(&mut session, change).await
        });
        let result = result.await;
        session.end(name, result).await
    }
}

/// Stores a row without its place in the order of commits.
async fn write_row<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    row: &StateRow,
    rule: Rule,
) -> Result<Written, Fault> {
    for _ in 0..ATTEMPTS {
        let stored = match rule {
            Rule::TheOneBefore if row.revision == 1 => {
                insert::<D>(connection, statements, row).await?
            }
            Rule::TheOneBefore => update::<D>(connection, statements, row).await?,
            Rule::Any => {
                overwrite::<D>(connection, statements, row).await?
                    || insert::<D>(connection, statements, row).await?
            }
        };
        if stored {
            return Ok(Written::Stored);
        }
        let found = find_revision::<D>(connection, statements, &row.id).await?;
        let found = found.unwrap_or_default();
        // Another writer may have made it right between the two looks: then it is as if this one had come later.
        if rule == Rule::TheOneBefore && found.checked_add(1) != u64::try_from(row.revision).ok() {
            return Ok(Written::Conflict { found });
        }
    }
    Err(Fault::refused(
        StorageErrorKind::Unavailable,
        "others change the same state all the time",
    ))
}

/// Gives a row its place in the order of commits, where the database has no such order of its own.
///
/// From here to the commit no other transaction can number rows of the same partition, so this is the last thing that a
/// transaction does.
async fn number<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    id: &PersistenceId,
) -> Result<(), Fault> {
    let Some(numbering) = &statements.numbering else {
        return Ok(());
    };
    let mut values = Values::<D>::with_capacity(1);
    values.integer(i64::from(id.slice() % numbering.partitions));
    if execute::<D>(connection, numbering.raise.clone(), values).await? != 1 {
        return Err(no_counter());
    }
    let mut values = Values::<D>::with_capacity(1);
    values.id(id);
    if execute::<D>(connection, numbering.set.clone(), values).await? != 1 {
        return Err(Fault::refused(
            StorageErrorKind::Extension,
            "the state is gone again before it is committed; see what a change handler or a trigger does to its row",
        ));
    }
    Ok(())
}

/// Returns the fault for a counter that is missing.
pub(super) fn no_counter() -> Fault {
    Fault::corrupt(
        "the table that numbers states lacks a row; restore it with the highest 'ordering' of its partition",
    )
}

/// Stores the first row of an id; false if there is one.
async fn insert<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    row: &StateRow,
) -> Result<bool, Fault> {
    let mut values = Values::<D>::with_capacity(10);
    values.id(&row.id);
    values.integer(i64::from(row.id.slice()));
    row.add_to(&mut values);
    match execute::<D>(connection, statements.insert.clone(), values).await {
        // Of the id, or of a column that the application added? The id stays locked, so this cannot change.
        Err(fault) if D::TRANSACTIONS_SURVIVE_ERRORS && fault.is_unique_violation() => {
            match find_revision::<D>(connection, statements, &row.id).await? {
                Some(_) => Ok(false),
                None => Err(fault),
            }
        }
        inserted => Ok(inserted? == 1),
    }
}

/// Replaces the row of an id that is at the revision before; false if there is none.
async fn update<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    row: &StateRow,
) -> Result<bool, Fault> {
    let mut values = Values::<D>::with_capacity(10);
    row.add_to(&mut values);
    values.id(&row.id);
    values.integer(row.revision - 1);
    Ok(execute::<D>(connection, statements.update.clone(), values).await? == 1)
}

/// Replaces the row of an id; false if there is none.
async fn overwrite<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    row: &StateRow,
) -> Result<bool, Fault> {
    let mut values = Values::<D>::with_capacity(9);
    row.add_to(&mut values);
    values.id(&row.id);
    Ok(execute::<D>(connection, statements.overwrite.clone(), values).await? == 1)
}

async fn find_revision<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    id: &PersistenceId,
) -> Result<Option<Revision>, Fault> {
    let mut values = Values::<D>::with_capacity(1);
    values.id(id);
    let sql = statements.revision.clone();
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    rows.first().map(|row| get_number::<D>(row, 0)).transpose()
}

/// Returns how many rows it found.
async fn execute<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    values: Values<D>,
) -> Result<u64, Fault> {
    let done = D::Database::execute(connection, sql, values.into_arguments()).await?;
    Ok(D::rows_affected(&done))
}
