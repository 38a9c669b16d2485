//! Storing a group of atomic writes.

pub(crate) mod at_once;
mod insert;

use std::collections::HashSet;

use actix_persistence_sql::{Appended, Group, Head, Opening, SqlError, Values, get_key};
use sqlx::SqliteConnection;

use crate::Sqlite;
use crate::queries::{JournalQueries, chunk_sizes};

/// Stores what may be stored, in the transaction of the caller, which has the write lock: nothing can come between
/// the check and the insert.
pub(crate) async fn append(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    group: Group,
    opening: Opening,
) -> Result<Appended, SqlError> {
    let Group {
        heads, mut events, ..
    } = group;
    let losers = losers(connection, queries, &heads, opening).await?;
    if !losers.is_empty() {
        events.retain(|row| !losers.contains(row.id.as_str()));
    }
    let winners = heads
        .iter()
        .filter(|head| !losers.contains(head.id.as_str()));
    take_over(connection, queries, winners).await?;
    let numbers = insert::insert(connection, queries, events).await?;
    let lost = heads.into_iter().map(|head| head.id);
    Ok(Appended {
        losers: lost.filter(|id| losers.contains(id.as_str())).collect(),
        numbers,
    })
}

/// The ids that have another epoch, or another highest number than the one to follow on.
///
/// One statement for many ids, which begins the transaction if that is due, and returns a row only for those that differ.
async fn losers(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    heads: &[Head],
    mut opening: Opening,
) -> Result<HashSet<String>, SqlError> {
    let mut losers = HashSet::new();
    let mut rest = heads;
    for size in chunk_sizes(heads.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::<Sqlite>::with_capacity(3 * size);
        for head in chunk {
            values.id(&head.id);
            values.integer(head.epoch);
            values.integer(head.before);
        }
        let statement = match std::mem::replace(&mut opening, Opening::Done) {
            Opening::Due => &queries.begin_and_check_fence,
            Opening::Done => &queries.check_fence,
        };
        let sql = statement.of(size);
        let rows = sqlx::query_with(sql, values.into_arguments())
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            losers.insert(get_key::<Sqlite>(row, 0)?);
        }
    }
    Ok(losers)
}

/// Stores the new writers and epochs of the ids that the group takes over.
async fn take_over(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    winners: impl Iterator<Item = &Head>,
) -> Result<(), SqlError> {
    let taken: Vec<_> = winners
        .filter_map(|head| Some((head, head.taken_over_by?)))
        .collect();
    let mut rest = taken.as_slice();
    for size in chunk_sizes(taken.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::<Sqlite>::with_capacity(4 * size);
        for (head, writer) in chunk {
            values.id(&head.id);
            values.integer(head.before);
            values.integer(head.epoch_afterwards);
            values.writer(*writer);
        }
        sqlx::query_with(queries.take_over.of(size), values.into_arguments())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
