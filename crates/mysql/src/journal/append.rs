//! Storing a group of events.

pub(crate) mod in_one_text;
mod insert;

use std::collections::{HashMap, HashSet};

use actix_persistence_sql::{
    Appended, ConnectionOf, Group, Head, Opening, SqlError, Values, get_integer, get_key,
};
use actix_persistence_storage_api::{PersistenceId, WriterId};
use sqlx::{Executor, MySqlConnection};

use crate::Mysql;
use crate::journal::numbering;
use crate::queries::{BEGIN, JournalQueries, ROLLBACK, chunk_sizes};

/// Stores the events of the ids that pass the fence, and returns those that do not, and the numbers of the events. Begins the transaction by one text for
/// all if it is due.
pub(crate) async fn append(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    mut group: Group,
    opening: Opening,
) -> Result<Appended, SqlError> {
    let mut losers = Vec::new();
    let are_as_expected = match opening {
        Opening::Done => raise(connection, queries, &group.heads).await?,
        Opening::Due => match in_one_text::begin_and_append(connection, queries, &group).await? {
            Some(numbers) => return Ok(Appended { losers, numbers }),
            None => false,
        },
    };
    if !are_as_expected {
        // Some were raised, some were not, and some may have been inserted that must not be there.
        begin_again(connection).await?;
        losers = take_losers(connection, queries, &mut group).await?;
        if !raise(connection, queries, &group.heads).await? {
            return Err(SqlError::corrupt(
                "a locked row of the metadata table has changed; see what else writes to it",
            ));
        }
    }
    if group.events.is_empty() {
        return Ok(losers.into());
    }
    let places = numbering::number(connection, &queries.counters, slices(&group)).await?;
    insert::insert(connection, queries, group.events, &places).await?;
    Ok(Appended {
        losers,
        numbers: places.iter().map(|place| place.ordering).collect(),
    })
}

/// The same in a transaction that others have begun: begun again, it would forget what they did in it. One mismatch is
/// enough to return all ids, because the caller commits nothing then.
pub(crate) async fn append_within(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    group: Group,
) -> Result<Vec<PersistenceId>, SqlError> {
    if !raise(connection, queries, &group.heads).await? {
        return Ok(group.heads.into_iter().map(|head| head.id).collect());
    }
    let places = numbering::number(connection, &queries.counters, slices(&group)).await?;
    insert::insert(connection, queries, group.events, &places).await?;
    Ok(Vec::new())
}

/// Returns the slices of the events.
fn slices(group: &Group) -> impl ExactSizeIterator<Item = u16> {
    group.events.iter().map(|row| row.slice)
}

/// Raises the highest numbers; returns whether all of them, and the epochs, were as expected.
async fn raise(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    heads: &[Head],
) -> Result<bool, SqlError> {
    let (held, taken): (Vec<_>, Vec<_>) =
        heads.iter().partition(|head| head.taken_over_by.is_none());
    if !taken.is_empty() {
        know(connection, queries, heads).await?;
    }
    Ok(raise_held(connection, queries, &held).await?
        && take_over(connection, queries, &taken).await?)
}

async fn raise_held(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    heads: &[&Head],
) -> Result<bool, SqlError> {
    let mut rest = heads;
    for size in chunk_sizes(heads.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::<Mysql>::with_capacity(4 * size);
        for head in chunk {
            values.id(&head.id);
            values.integer(head.last);
            values.integer(head.before);
            values.integer(head.epoch);
        }
        let sql = queries.raise_highest.of(size);
        let done = sqlx::query_with(sql, values.into_arguments())
            .execute(&mut *connection)
            .await?;
        if done.rows_affected() != 2 * size as u64 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Takes ids over; returns whether the numbers and epochs of all of them were as expected.
async fn take_over(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    heads: &[&Head],
) -> Result<bool, SqlError> {
    let mut rest = heads;
    for size in chunk_sizes(heads.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::<Mysql>::with_capacity(6 * size);
        for head in chunk {
            values.id(&head.id);
            values.integer(head.epoch);
            values.integer(head.epoch_afterwards);
            values.integer(head.before);
            values.integer(head.last);
            values.writer(head.taken_over_by.unwrap_or(WriterId::NIL));
        }
        let sql = queries.take_over.of(size);
        let done = sqlx::query_with(sql, values.into_arguments())
            .execute(&mut *connection)
            .await?;
        if done.rows_affected() != size as u64 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes sure that there are rows that know the highest numbers, and locks them: all of a group in the order of ids,
/// also those that are not taken over, because two calls that lock them in different orders would deadlock.
async fn know(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    heads: &[Head],
) -> Result<(), SqlError> {
    let mut rest = heads;
    for size in chunk_sizes(heads.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::<Mysql>::with_capacity(2 * size);
        for head in chunk {
            values.id(&head.id);
            values.id(&head.id);
        }
        sqlx::query_with(queries.know.of(size), values.into_arguments())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Removes rows without a writer and without numbers: those that were made so that they could be locked.
async fn forget(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    heads: &[Head],
) -> Result<(), SqlError> {
    let mut rest = heads;
    for size in chunk_sizes(heads.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::<Mysql>::with_capacity(size);
        for head in chunk {
            values.id(&head.id);
        }
        sqlx::query_with(queries.forget.of(size), values.into_arguments())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

async fn begin_again(connection: &mut ConnectionOf<Mysql>) -> Result<(), SqlError> {
    for sql in [ROLLBACK, BEGIN] {
        connection.execute(sqlx::raw_sql(sql)).await?;
    }
    Ok(())
}

/// Takes out of the group what belongs to ids that are not as expected; those that are stay so until the commit.
async fn take_losers(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    group: &mut Group,
) -> Result<Vec<PersistenceId>, SqlError> {
    if group.takes_over() {
        // A row that is not there cannot be locked, and a writer that makes it meanwhile would win.
        know(connection, queries, &group.heads).await?;
    }
    let mut found = HashMap::with_capacity(group.heads.len());
    let mut rest = group.heads.as_slice();
    for size in chunk_sizes(group.heads.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::<Mysql>::with_capacity(size);
        for head in chunk {
            values.id(&head.id);
        }
        let rows = sqlx::query_with(queries.lock.of(size), values.into_arguments())
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            let stands = (get_integer::<Mysql>(row, 1)?, get_integer::<Mysql>(row, 2)?);
            found.insert(get_key::<Mysql>(row, 0)?, stands);
        }
    }
    let (winners, losers): (Vec<_>, Vec<_>) = std::mem::take(&mut group.heads)
        .into_iter()
        .partition(|head| found.get(head.id.as_str()) == Some(&(head.epoch, head.before)));
    if losers
        .iter()
        .any(|head| found.get(head.id.as_str()) == Some(&(0, 0)))
    {
        forget(connection, queries, &losers).await?;
    }
    let winning: HashSet<&PersistenceId> = winners.iter().map(|head| &head.id).collect();
    group.events.retain(|row| winning.contains(&row.id));
    drop(winning);
    group.heads = winners;
    Ok(losers.into_iter().map(|head| head.id).collect())
}
