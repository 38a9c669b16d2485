//! The order of commits.

use actix_persistence_sql::{SqlError, Values, get_integer};
use sqlx::MySqlConnection;

use crate::Mysql;
use crate::queries::CounterQueries;

/// The place of an event or of the change of a state in the order of commits.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) partition: i64,
    pub(crate) ordering: i64,
}

/// The numbers that rows need.
pub(crate) struct Wanted {
    /// The partition of each row.
    partitions: Vec<usize>,
    /// The number of rows of each partition.
    wanted: Vec<i64>,
}

impl Wanted {
    /// Returns what rows of these slices need.
    pub(crate) fn by(
        queries: &CounterQueries,
        slices: impl ExactSizeIterator<Item = u16>,
    ) -> Result<Self, SqlError> {
        let mut wanted = vec![0_i64; usize::from(queries.partitions.number()?)];
        let mut partitions = Vec::with_capacity(slices.len());
        for slice in slices {
            let partition = usize::from(queries.partitions.of_slice(slice)?.nr());
            wanted[partition] += 1;
            partitions.push(partition);
        }
        Ok(Self { partitions, wanted })
    }

    /// Returns the partition of all rows, and how many there are, if they are all of one.
    pub(crate) fn only(&self) -> Option<(i64, i64)> {
        let (partition, number) = self.used().next()?;
        (number == self.partitions.len() as i64).then_some((partition, number))
    }

    /// Returns the partitions of the rows, and how many each of them has.
    pub(crate) fn used(&self) -> impl Iterator<Item = (i64, i64)> {
        let all = (0_i64..).zip(self.wanted.iter().copied());
        all.filter(|(_, wanted)| *wanted > 0)
    }

    /// Returns, for each row, its partition and how many numbers there are between its own and the newest.
    pub(crate) fn places(&self) -> impl Iterator<Item = (i64, i64)> {
        let mut left = self.wanted.clone();
        self.partitions.iter().map(move |&partition| {
            left[partition] -= 1;
            (partition as i64, left[partition])
        })
    }
}

/// Numbers rows of these slices, in the transaction of the caller: those of a partition follow on each other, above
/// whatever was committed before.
///
/// Until the commit no other transaction can number rows of these partitions, so this comes as late as it can.
pub(crate) async fn number(
    connection: &mut MySqlConnection,
    queries: &CounterQueries,
    slices: impl ExactSizeIterator<Item = u16>,
) -> Result<Vec<Place>, SqlError> {
    let Wanted { partitions, wanted } = Wanted::by(queries, slices)?;
    let used: Vec<usize> = (0..wanted.len()).filter(|&it| wanted[it] > 0).collect();
    let newest = match used.as_slice() {
        &[partition] => number_one(connection, queries, partition, &wanted).await?,
        several => number_several(connection, queries, several, &wanted).await?,
    };
    let of_partitions = newest.iter().zip(&wanted);
    let mut next: Vec<i64> = of_partitions
        .map(|(newest, wanted)| newest - wanted + 1)
        .collect();
    let places = partitions.into_iter().map(|partition| {
        let ordering = next[partition];
        next[partition] += 1;
        Place {
            partition: partition as i64,
            ordering,
        }
    });
    Ok(places.collect())
}

/// Does the work that most transactions of a few ids need, in one trip to the server.
async fn number_one(
    connection: &mut MySqlConnection,
    queries: &CounterQueries,
    partition: usize,
    wanted: &[i64],
) -> Result<Vec<i64>, SqlError> {
    let mut values = Values::<Mysql>::with_capacity(2);
    values.integer(wanted[partition]);
    values.integer(partition as i64);
    let done = sqlx::query_with(queries.raise_one.clone(), values.into_arguments())
        .execute(connection)
        .await?;
    if done.rows_affected() != 1 {
        return Err(missing());
    }
    let mut newest = vec![0; wanted.len()];
    newest[partition] = i64::try_from(done.last_insert_id()).map_err(|_| missing())?;
    Ok(newest)
}

async fn number_several(
    connection: &mut MySqlConnection,
    queries: &CounterQueries,
    used: &[usize],
    wanted: &[i64],
) -> Result<Vec<i64>, SqlError> {
    // Repeated, they change nothing, and few statements do for any number.
    let places = used.len().next_power_of_two();
    let power = places.ilog2() as usize;
    let repeated: Vec<usize> = used.iter().copied().cycle().take(places).collect();
    let mut values = Values::<Mysql>::with_capacity(3 * places);
    for &partition in &repeated {
        values.integer(partition as i64);
        values.integer(wanted[partition]);
    }
    let mut partitions = Values::<Mysql>::with_capacity(places);
    for &partition in &repeated {
        values.integer(partition as i64);
        partitions.integer(partition as i64);
    }
    let done = sqlx::query_with(queries.raise_many[power].clone(), values.into_arguments())
        .execute(&mut *connection)
        .await?;
    if done.rows_affected() != used.len() as u64 {
        return Err(missing());
    }
    let rows = sqlx::query_with(queries.newest[power].clone(), partitions.into_arguments())
        .fetch_all(connection)
        .await?;
    let mut newest = vec![0; wanted.len()];
    for row in &rows {
        let partition = get_integer::<Mysql>(row, 0)?;
        let place = usize::try_from(partition)
            .ok()
            .and_then(|partition| newest.get_mut(partition));
        *place.ok_or_else(missing)? = get_integer::<Mysql>(row, 1)?;
    }
    Ok(newest)
}

pub(crate) fn missing() -> SqlError {
    SqlError::corrupt(
        "the table of counters lacks a row; restore it with the highest 'ordering' of its partition",
    )
}
