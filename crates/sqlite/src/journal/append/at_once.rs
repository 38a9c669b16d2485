//! Storing a group by texts that begin its transaction, check its ids, store its events and commit.
//!
//! Each text travels to the thread of the connection and back once, however many statements it has. None of them asks
//! what the one before has returned: what is not as expected ends the text with an error before anything is committed.

use actix_persistence_sql::{Appended, AtOnce, EventRow, Group, Head, SqlError, Values};
use futures_util::TryStreamExt;
use sqlx::sqlite::SqliteQueryResult;
use sqlx::{Either, Executor, SqlStr, SqliteConnection};

use super::insert::{add_event, add_tag, numbers_of, take_tags};
use crate::queries::{AtOnceStatements, JournalQueries, TextPart, chunk_sizes};
use crate::{Sqlite, error};

/// The most bytes of a group: its events are kept, because they may have to be stored with care.
const MOST_BYTES: usize = 1024 * 1024;

/// Returns whether [`append`] is meant for a group: events of ids that their writers hold.
pub(crate) fn stores(group: &Group) -> bool {
    !group.takes_over() && group.bytes() <= MOST_BYTES
}

/// Stores all events, and commits; or commits nothing.
pub(crate) async fn append(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    group: Group,
) -> Result<AtOnce<Appended>, SqlError> {
    let statements = &queries.at_once;
    let Group {
        heads, mut events, ..
    } = group;
    let tags = take_tags(&mut events);
    let with_metadata = events.iter().any(|row| row.event.metadata.is_some());
    let sizes: Vec<usize> = chunk_sizes(events.len()).collect();
    let sizes_of_tags: Vec<usize> = chunk_sizes(tags.len()).collect();
    let texts = sizes.len() + sizes_of_tags.len();
    let mut parts = (0..texts).map(|place| TextPart::of(place, texts));

    let mut numbers = Vec::with_capacity(events.len());
    let mut events = events.into_iter();
    for (size, part) in sizes.into_iter().zip(&mut parts) {
        let rows: Vec<EventRow> = events.by_ref().take(size).collect();
        let mut values = Values::<Sqlite>::with_capacity(16 * size);
        rows.iter()
            .for_each(|row| add_head(&mut values, &heads, row));
        for row in rows {
            add_event(&mut values, row, with_metadata);
        }
        let sql = statements.events(part, with_metadata).of(size);
        let done = run(connection, sql, values, part, AtOnceStatements::OF_EVENTS);
        match done.await? {
            Ok(done) => {
                let inserted = &done[usize::from(part.begins) + AtOnceStatements::INSERT];
                numbers.extend(numbers_of(size, inserted.last_insert_rowid()));
            }
            Err(end) => return Ok(end),
        }
    }
    let mut tags = tags.into_iter();
    for (size, part) in sizes_of_tags.into_iter().zip(&mut parts) {
        let mut values = Values::<Sqlite>::with_capacity(3 * size);
        for row in tags.by_ref().take(size) {
            add_tag(&mut values, row);
        }
        let sql = statements.tags(part).of(size);
        let done = run(connection, sql, values, part, AtOnceStatements::OF_TAGS);
        if let Err(end) = done.await? {
            return Ok(end);
        }
    }
    Ok(AtOnce::Committed(Appended {
        losers: Vec::new(),
        numbers,
    }))
}

/// Adds the head of the id of an event if the event is the first one of it: later ones follow on what this call has
/// inserted.
fn add_head(values: &mut Values<Sqlite>, heads: &[Head], row: &EventRow) {
    let head = heads.binary_search_by(|head| head.id.cmp(&row.id));
    let head = head.ok().map(|place| &heads[place]);
    match head.filter(|head| head.before + 1 == row.sequence_nr()) {
        Some(head) => {
            values.id(&head.id);
            values.integer(head.epoch);
            values.integer(head.before);
        }
        None => {
            values.no_blob();
            values.integer(0);
            values.integer(0);
        }
    }
}

/// Runs a text with so many statements of its own; returns the result of each, or how the transaction has ended if one of
/// them fails.
///
/// # Errors
/// If it is not certain that the commit was never reached.
async fn run(
    connection: &mut SqliteConnection,
    sql: SqlStr,
    values: Values<Sqlite>,
    part: TextPart,
    own: usize,
) -> Result<Result<Vec<SqliteQueryResult>, AtOnce<Appended>>, SqlError> {
    let statements = part.statements(own);
    let mut results = connection.fetch_many(sqlx::query_with(sql, values.into_arguments()));
    // One result for each; the end of them would be one more wait.
    let mut ended = Vec::with_capacity(statements);
    while ended.len() < statements {
        let error = match results.try_next().await {
            Ok(Some(Either::Left(done))) => {
                ended.push(done);
                continue;
            }
            // No statement has one: they end the text with an error in its place.
            Ok(Some(Either::Right(_))) => continue,
            Ok(None) => sqlx::Error::WorkerCrashed,
            Err(error) => error,
        };
        let error = SqlError::from(error);
        let done = ended.len();
        let is_commit = part.commits && done + 1 == statements;
        if is_commit || error.reported().is_none() {
            return Err(error);
        }
        let end = match part.begins && done == 0 {
            true if error::is_locked(&error) => AtOnce::NotBegun,
            false if error::is_unexpected(&error) => AtOnce::Unexpected,
            _ => AtOnce::Failed(error),
        };
        return Ok(Err(end));
    }
    Ok(Ok(ended))
}
