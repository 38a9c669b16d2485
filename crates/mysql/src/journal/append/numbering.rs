//! The order of commits.

use actix_persistence_sql::{EventRow, SqlError, Values, get_integer};
use sqlx::MySqlConnection;

use crate::Mysql;
use crate::queries::{JournalQueries, PARTITIONS};

/// Numbers events, in the transaction of the caller: those of a partition follow on each other, above whatever was committed
/// before.
///
/// Until the commit no other transaction can number events of these partitions, so this comes as late as it can.
pub(super) async fn number(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    events: &[EventRow],
) -> Result<Vec<i64>, SqlError> {
    let mut wanted = [0_i64; PARTITIONS];
    for row in events {
        wanted[partition_of(row)] += 1;
    }
    let used: Vec<usize> = (0..PARTITIONS).filter(|&it| wanted[it] > 0).collect();
    let newest = match used.as_slice() {
        &[partition] => number_one(connection, queries, partition, &wanted).await?,
        several => number_several(connection, queries, several, &wanted).await?,
    };
    let mut next: [i64; PARTITIONS] = std::array::from_fn(|it| newest[it] - wanted[it] + 1);
    let orderings = events.iter().map(|row| {
        let next = &mut next[partition_of(row)];
        let ordering = *next;
        *next += 1;
        ordering
    });
    Ok(orderings.collect())
}

/// Returns the partition of an event, as the tables derive it from the slice.
fn partition_of(row: &EventRow) -> usize {
    usize::from(row.slice) % PARTITIONS
}

/// Does the work that most transactions of a few ids need, in one trip to the server.
async fn number_one(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    partition: usize,
    wanted: &[i64; PARTITIONS],
) -> Result<[i64; PARTITIONS], SqlError> {
    let mut values = Values::<Mysql>::with_capacity(2);
    values.integer(wanted[partition]);
    values.integer(partition as i64);
    let done = sqlx::query_with(queries.number_one.clone(), values.into_arguments())
        .execute(connection)
        .await?;
    if done.rows_affected() != 1 {
        return Err(missing());
    }
    let mut newest = [0; PARTITIONS];
    newest[partition] = i64::try_from(done.last_insert_id()).map_err(|_| missing())?;
    Ok(newest)
}

async fn number_several(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    used: &[usize],
    wanted: &[i64; PARTITIONS],
) -> Result<[i64; PARTITIONS], SqlError> {
    // Repeated, they change nothing, and one statement does for any number.
    let repeated: Vec<usize> = used.iter().copied().cycle().take(PARTITIONS).collect();
    let mut values = Values::<Mysql>::with_capacity(3 * PARTITIONS);
    for &partition in &repeated {
        values.integer(partition as i64);
        values.integer(wanted[partition]);
    }
    let mut partitions = Values::<Mysql>::with_capacity(PARTITIONS);
    for &partition in &repeated {
        values.integer(partition as i64);
        partitions.integer(partition as i64);
    }
    let done = sqlx::query_with(queries.number_many.clone(), values.into_arguments())
        .execute(&mut *connection)
        .await?;
    if done.rows_affected() != used.len() as u64 {
        return Err(missing());
    }
    let rows = sqlx::query_with(queries.newest.clone(), partitions.into_arguments())
        .fetch_all(connection)
        .await?;
    let mut newest = [0; PARTITIONS];
    for row in &rows {
        let partition = get_integer::<Mysql>(row, 0)?;
        let place = usize::try_from(partition)
            .ok()
            .and_then(|partition| newest.get_mut(partition));
        *place.ok_or_else(missing)? = get_integer::<Mysql>(row, 1)?;
    }
    Ok(newest)
}

fn missing() -> SqlError {
    SqlError::corrupt(
        "the table that numbers events lacks a row; restore it with the highest 'ordering' of its partition",
    )
}
