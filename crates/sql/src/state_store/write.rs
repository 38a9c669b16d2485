//! The storing of a state at the revision that follows, in the transaction or the statement of the caller.

use std::collections::{BTreeMap, HashSet};
use std::iter;
use std::marker::PhantomData;
use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeEvent, ChangeKind, CurrentState, Partition, PersistenceId, Revision, StateChange,
    StorageErrorKind,
};
use sqlx::SqlStr;

use crate::connection::{Opening, Visit};
use crate::row::get_number;
use crate::session::{SqlSession, guarded};
use crate::values::Values;
use crate::{
    BeginningStatements, ConnectionOf, Dialect, LateNumberingStatements, NumberingStatements,
    SqlError, SqlxDatabase, StateStatements,
};

use super::change_events::{ChangeEvents, Told};
use super::entities::Handler;
use super::guilty::Guilty;
use super::load::load;
use super::state_row::StateRow;

/// The stored revisions that a write may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The revision before the new one; for revision 1 nothing may be stored.
    TheOneBefore,
    /// The row may be of any revision, or missing.
    Any,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// The change is stored.
    Stored,
    /// The row is as it was, because another revision is stored.
    Conflict { found: Revision },
}

/// The number of attempts at a write that changes nothing although nothing is in its way: another write may come between,
/// but not each time.
const ATTEMPTS: usize = 10;

/// A change of a row, and the statements of its table.
#[derive(Debug)]
pub(super) struct Change<D: Dialect> {
    pub(super) statements: Arc<StateStatements>,
    /// The statements that it can share with other changes of the table; `None` if it needs one of its own.
    pub(super) queries: Option<Arc<D::StateQueries>>,
    pub(super) row: StateRow,
    pub(super) event: Option<ChangeEvent>,
}

impl<D: Dialect> Clone for Change<D> {
    fn clone(&self) -> Self {
        Self {
            statements: Arc::clone(&self.statements),
            queries: self.queries.clone(),
            row: self.row.clone(),
            event: self.event.clone(),
        }
    }
}

/// The handler and the journal of a change that code of the application accompanies.
pub(super) struct Accompaniment<'a, D: Dialect> {
    pub(super) handling: &'a Handling,
    pub(super) journal: Option<&'a ChangeEvents<D>>,
}

/// Stores rows one after the other, with their events, and assigns those that were stored their places in the order of
/// commits.
pub(super) async fn write_all<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    changes: &[Change<D>],
    rule: Rule,
    journal: Option<&ChangeEvents<D>>,
    mut opening: Opening,
    guilty: &Guilty,
) -> Result<Vec<Written>, SqlError> {
    guilty.forget();
    let mut all = vec![Written::Stored; changes.len()];
    for place in in_order(changes) {
        let Change {
            statements, row, ..
        } = &changes[place];
        let opening = std::mem::replace(&mut opening, Opening::Done);
        let written = write_row::<D>(connection, statements, row, rule, opening).await;
        all[place] = written.map_err(|error| guilty.note::<D>(&row.id, error))?;
    }
    let stored: Vec<&Change<D>> = changes
        .iter()
        .zip(&all)
        .filter_map(|(change, written)| (*written == Written::Stored).then_some(change))
        .collect();
    if let Some(journal) = journal {
        let told = stored.iter().filter_map(|change| change.told()).collect();
        journal.store(connection, told, guilty).await?;
    }
    // All writers raise counters in one order, so that two transactions never wait for each other.
    let mut places: BTreeMap<(&str, Partition), Vec<&Change<D>>> = BTreeMap::new();
    for change in stored {
        let place = (change.statements.revision.as_str(), change.partition()?);
        places.entry(place).or_default().push(change);
    }
    for ((_, partition), of_counter) in places {
        number::<D>(connection, partition, &of_counter).await?;
    }
    Ok(all)
}

/// Returns the places of changes in the order in which they lock rows, which is that of changes that share statements, if
/// they can be made in any: one table after the other, each in the order of [`StateRows`](crate::StateRows).
fn in_order<D: Dialect>(changes: &[Change<D>]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..changes.len()).collect();
    if super::together::tables_of(changes).is_some() {
        places.sort_by_key(|&place| {
            let Change {
                statements, row, ..
            } = &changes[place];
            (statements.revision.as_str(), row.revision == 1, &row.id)
        });
    }
    places
}

/// Stores a row, calls the change handler, writes the event into the journal, and assigns the row its place in the
/// order of commits.
///
/// The handler comes first, because what follows may hold locks that many wait for.
pub(super) async fn write_with_handler<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    change: &Change<D>,
    rule: Rule,
    with: Accompaniment<'_, D>,
    opening: Opening,
) -> Result<Written, SqlError> {
    let Change {
        statements, row, ..
    } = change;
    let written = write_row::<D>(connection, statements, row, rule, opening).await?;
    if written == Written::Stored {
        let revision = u64::try_from(row.revision).expect("no revision is negative");
        let of_handler = StateChange::new(&row.id, revision, row.content.kind());
        with.handling.run::<D>(connection, &of_handler).await?;
        if let Some((journal, told)) = with.journal.zip(change.told()) {
            let guilty = Guilty::default();
            journal.store(connection, vec![told], &guilty).await?;
        }
        // The handler may have done anything to the row since it was stored.
        check_stored::<D>(connection, statements, row).await?;
        number::<D>(connection, change.partition()?, &[change]).await?;
        if let Some(numbering) = &statements.numbering
            && numbering.late.is_none()
        {
            set_number::<D>(connection, numbering, &row.id, 0).await?;
        }
    }
    Ok(written)
}

/// Assigns the row of an id its place in the order of commits if it is committed without one.
///
/// # Errors
/// If another transaction has locked the row, too.
pub(super) async fn number_if_committed<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    id: &PersistenceId,
) -> Result<(), SqlError> {
    let Some((numbering, late)) = statements.late_numbering() else {
        return Ok(());
    };
    // The row comes before its counter, as everywhere. What others have numbered by now has a place of its own.
    let mut values = Values::<D>::with_capacity(1);
    values.id(id);
    let sql = late.lock_unnumbered.clone();
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    if !rows.is_empty() {
        let partition = statements.partition_of(id.slice())?;
        raise_counter::<D>(connection, late, partition, 1).await?;
        set_number::<D>(connection, numbering, id, 0).await?;
    }
    Ok(())
}

impl<D: Dialect> Change<D> {
    /// Returns what the event of the change records, if it has one.
    fn told(&self) -> Option<Told<'_>> {
        Some(Told {
            id: &self.row.id,
            revision: self.row.revision,
            event: self.event.as_ref()?,
        })
    }

    /// Returns the partition whose counter numbers the row.
    fn partition(&self) -> Result<Partition, SqlError> {
        self.statements.partition_of(self.row.id.slice())
    }
}

/// Removes the row of an id and runs the change handler for that; returns whether there was a row.
pub(super) async fn remove<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    id: &PersistenceId,
    handler: Option<&Handling>,
    opening: Opening,
) -> Result<bool, SqlError> {
    opening.complete::<D>(connection).await?;
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
        let found = find_revision::<D>(connection, statements, id).await?;
        if found.is_some() {
            return Err(undone());
        }
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
    ) -> Result<(), SqlError> {
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

/// Stores a row, on a database where only one transaction writes at a time, together with its place in the order of
/// commits.
async fn write_row<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    row: &StateRow,
    rule: Rule,
    mut opening: Opening,
) -> Result<Written, SqlError> {
    if statements.beginning.is_none() {
        opening.complete::<D>(connection).await?;
        opening = Opening::Done;
    }
    for _ in 0..ATTEMPTS {
        let of_row = OfRow::<D>::new(
            statements,
            row,
            std::mem::replace(&mut opening, Opening::Done),
        );
        let stored = match rule {
            Rule::TheOneBefore if row.revision == 1 => of_row.insert(connection).await?,
            Rule::TheOneBefore => of_row.update(connection).await?,
            Rule::Any => {
                of_row.overwrite(connection).await?
                    || OfRow::<D>::new(statements, row, Opening::Done)
                        .insert(connection)
                        .await?
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
    Err(row_was_skipped())
}

/// Returns the error for a row of a state that the database leaves as it is although nothing is in the way.
pub fn row_was_skipped() -> SqlError {
    SqlError::refused(
        StorageErrorKind::Constraint,
        "the database leaves the row as it is and reports no error, see whether a trigger or rule of the table skips it",
    )
}

/// Assigns the stored rows of one counter their places in the order of commits, where they do not have them yet.
///
/// From here to the commit no other transaction can number rows of the same partition, so this is the last thing that a
/// transaction does.
async fn number<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    partition: Partition,
    of_counter: &[&Change<D>],
) -> Result<(), SqlError> {
    let Some(first) = of_counter.first() else {
        return Ok(());
    };
    let Some((numbering, late)) = first.statements.late_numbering() else {
        return Ok(());
    };
    raise_counter::<D>(connection, late, partition, of_counter.len()).await?;
    match of_counter {
        [only] => set_number::<D>(connection, numbering, &only.row.id, 0).await,
        _ => set_numbers::<D>(connection, late, of_counter).await,
    }
}

/// Takes numbers from the counter of a partition, as many as there are rows, and holds its lock until the end of the
/// transaction.
async fn raise_counter<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    late: &LateNumberingStatements,
    partition: Partition,
    by: usize,
) -> Result<(), SqlError> {
    let mut values = Values::<D>::with_capacity(2);
    values.integer(by as i64);
    values.integer(i64::from(partition.nr()));
    match execute::<D>(connection, late.raise.clone(), values).await? {
        1 => Ok(()),
        _ => Err(state_counter_is_missing()),
    }
}

/// Numbers rows of one counter with few statements.
async fn set_numbers<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    late: &LateNumberingStatements,
    of_counter: &[&Change<D>],
) -> Result<(), SqlError> {
    let mut seen = HashSet::new();
    let ids = of_counter.iter().rev().map(|change| &change.row.id);
    let ids: Vec<&PersistenceId> = ids.filter(|id| seen.insert(*id)).collect();
    let mut below_highest = 0;
    for some in ids.chunks(LateNumberingStatements::SEVERAL) {
        // Repeated, the last one is found at its first place.
        let last = some.last().copied();
        let all = || {
            some.iter().copied().chain(
                iter::repeat_n(last, LateNumberingStatements::SEVERAL - some.len()).flatten(),
            )
        };
        let mut values = Values::<D>::with_capacity(1 + 2 * LateNumberingStatements::SEVERAL);
        values.integer(below_highest);
        all().for_each(|id| values.id(id));
        all().for_each(|id| values.id(id));
        if execute::<D>(connection, late.set_several.clone(), values).await? != some.len() as u64 {
            return Err(gone_again());
        }
        below_highest += some.len() as i64;
    }
    Ok(())
}

async fn set_number<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    numbering: &NumberingStatements,
    id: &PersistenceId,
    below_highest: i64,
) -> Result<(), SqlError> {
    let mut values = Values::<D>::with_capacity(2);
    values.integer(below_highest);
    values.id(id);
    match execute::<D>(connection, numbering.set.clone(), values).await? {
        1 => Ok(()),
        _ => Err(gone_again()),
    }
}

/// Fails unless the row is still what was stored.
async fn check_stored<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    row: &StateRow,
) -> Result<(), SqlError> {
    match load::<D>(connection, statements.load.clone(), &row.id).await {
        Ok(found) if row.is(&found) => Ok(()),
        Ok(found) if found == CurrentState::NEVER_SEEN => Err(gone_again()),
        Ok(_) => Err(undone()),
        Err(error) if error.is_corrupt() => Err(undone()),
        Err(error) => Err(error),
    }
}

fn undone() -> SqlError {
    SqlError::refused(
        StorageErrorKind::Extension,
        "the row of the state is no longer what the change made of it; see what the change handler does to it",
    )
}

fn gone_again() -> SqlError {
    SqlError::refused(
        StorageErrorKind::Extension,
        "the state is gone again before it is committed; see what a change handler or a trigger does to its row",
    )
}

/// Returns the error for a counter of a table of states that is missing.
pub fn state_counter_is_missing() -> SqlError {
    SqlError::corrupt(
        "the table that numbers states lacks a row; restore it with the highest 'ordering' of its partition",
    )
}

/// The statements that store one row.
struct OfRow<'a, D: Dialect> {
    statements: &'a StateStatements,
    beginning: Option<&'a BeginningStatements>,
    row: &'a StateRow,
    dialect: PhantomData<fn() -> D>,
}

impl<'a, D: Dialect> OfRow<'a, D> {
    fn new(statements: &'a StateStatements, row: &'a StateRow, opening: Opening) -> Self {
        Self {
            statements,
            beginning: statements
                .beginning
                .as_ref()
                .filter(|_| opening == Opening::Due),
            row,
            dialect: PhantomData,
        }
    }

    /// Stores the first row of an id; false if there is one.
    async fn insert(&self, connection: &mut ConnectionOf<D>) -> Result<bool, SqlError> {
        let slice = self.row.id.slice();
        let mut values = Values::<D>::with_capacity(11);
        values.id(&self.row.id);
        values.integer(i64::from(slice));
        if self.statements.partitioned().is_some() {
            let partition = self.statements.partition_of(slice)?;
            values.integer(i64::from(partition.nr()));
        }
        self.row.add_to(&mut values);
        let sql = match self.beginning {
            Some(beginning) => &beginning.insert,
            None => &self.statements.insert,
        };
        match self.store(connection, sql, values).await {
            // Of the id, or of a column that the application added? The id stays locked, so this cannot change.
            Err(error) if D::TRANSACTIONS_SURVIVE_ERRORS && error.is_unique_violation() => {
                match find_revision::<D>(connection, self.statements, &self.row.id).await? {
                    Some(_) => Ok(false),
                    None => Err(error),
                }
            }
            inserted => inserted,
        }
    }

    /// Replaces the row of an id that is at the revision before; false if there is none.
    async fn update(&self, connection: &mut ConnectionOf<D>) -> Result<bool, SqlError> {
        let mut values = self.replacing();
        values.integer(self.row.revision - 1);
        let sql = match self.beginning {
            Some(beginning) => &beginning.update,
            None => &self.statements.update,
        };
        self.store(connection, sql, values).await
    }

    /// Returns the values of a row that replaces another one, with the id.
    fn replacing(&self) -> Values<D> {
        let mut values = Values::<D>::with_capacity(10);
        if D::ID_FIRST {
            values.id(&self.row.id);
        }
        self.row.add_to(&mut values);
        if !D::ID_FIRST {
            values.id(&self.row.id);
        }
        values
    }

    /// Replaces the row of an id; false if there is none.
    async fn overwrite(&self, connection: &mut ConnectionOf<D>) -> Result<bool, SqlError> {
        let values = self.replacing();
        let sql = match self.beginning {
            Some(beginning) => &beginning.overwrite,
            None => &self.statements.overwrite,
        };
        self.store(connection, sql, values).await
    }

    async fn store(
        &self,
        connection: &mut ConnectionOf<D>,
        sql: &SqlStr,
        values: Values<D>,
    ) -> Result<bool, SqlError> {
        let numbering = self.statements.numbering.as_ref();
        if numbering.is_none_or(|numbering| numbering.late.is_some()) {
            return Ok(execute::<D>(connection, sql.clone(), values).await? == 1);
        }
        let arguments = values.into_arguments();
        let results = D::Database::execute_each(connection, sql.clone(), arguments).await?;
        let mut rows = results.iter().rev().map(D::rows_affected);
        match (rows.next(), rows.next()) {
            (Some(1), Some(1)) => Ok(true),
            (_, Some(0)) => Ok(false),
            _ => match find_revision::<D>(connection, self.statements, &self.row.id).await? {
                Some(_) => Err(state_counter_is_missing()),
                None => Err(gone_again()),
            },
        }
    }
}

async fn find_revision<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &StateStatements,
    id: &PersistenceId,
) -> Result<Option<Revision>, SqlError> {
    let mut values = Values::<D>::with_capacity(1);
    values.id(id);
    let sql = statements.revision.clone();
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    rows.first().map(|row| get_number::<D>(row, 0)).transpose()
}

/// Returns the number of rows that it found.
async fn execute<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    values: Values<D>,
) -> Result<u64, SqlError> {
    let done = D::Database::execute(connection, sql, values.into_arguments()).await?;
    Ok(D::rows_affected(&done))
}
