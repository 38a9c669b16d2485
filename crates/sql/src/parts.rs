//! The partitions of which a query reads, and how far each is complete.

use std::ops::RangeInclusive;

use actix_persistence_storage_api::{
    NUMBER_OF_SLICES, Offset, Partition, Position, StorageErrorKind,
};
use sqlx::SqlStr;

use crate::row::{get_integer, get_optional_integer};
use crate::values::Values;
use crate::{ConnectionOf, Dialect, Partitions, RowOf, SqlError, SqlxDatabase};

/// The rows of one partition that a page may return.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) partition: Partition,
    /// The number up to which all rows are there, so that none is added below it; `None` if there never was one.
    pub(crate) complete_to: Option<i64>,
}

impl Part {
    /// Returns the partitions that have some of the slices, in the order of their numbers, with how far each is complete; fails
    /// for an offset of other partitions.
    pub(crate) fn complete_to<P: Position>(
        partitions: Option<&Partitions>,
        slices: &RangeInclusive<u16>,
        after: &Offset<P>,
        numbers: impl IntoIterator<Item = (i64, i64)>,
    ) -> Result<Vec<Self>, SqlError> {
        let mut parts = Self::of(partitions, slices)?;
        let number = partitions.map_or(Ok(Partition::ONLY.of()), Partitions::number)?;
        let checked = after.check(number);
        checked
            .map_err(|error| SqlError::refused(StorageErrorKind::Unsupported, error.to_string()))?;
        for (nr, highest) in numbers {
            let mut parts = parts.iter_mut();
            if let Some(part) = parts.find(|part| i64::from(part.partition.nr()) == nr) {
                part.complete_to = Some(highest);
            }
        }
        Ok(parts)
    }

    /// Returns the partitions that have some of the slices.
    fn of(
        partitions: Option<&Partitions>,
        slices: &RangeInclusive<u16>,
    ) -> Result<Vec<Self>, SqlError> {
        let of_slice = |slice| match partitions {
            Some(partitions) => partitions.of_slice(slice),
            None => Ok(Partition::ONLY),
        };
        let end = (*slices.end()).min(NUMBER_OF_SLICES - 1);
        if !slices.contains(&end) {
            return Ok(Vec::new());
        }
        let (first, last) = (of_slice(*slices.start())?, of_slice(end)?);
        let partitions = (first.nr()..=last.nr()).filter_map(|nr| Partition::new(nr, first.of()));
        let parts = partitions.map(|partition| Self {
            partition,
            complete_to: None,
        });
        Ok(parts.collect())
    }

    /// Moves an offset after all that is complete, if it is not there yet.
    pub(crate) fn pass<P: Position>(&self, offset: &mut Offset<P>) {
        if let Some(complete_to) = self.complete_to {
            offset.pass(self.partition, complete_to);
        }
    }
}

/// Reads the number of each partition that a statement returns; none for NULL.
pub(crate) async fn read_numbers<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    values: Values<D>,
) -> Result<Vec<(i64, i64)>, SqlError> {
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    numbers_of::<D>(&rows)
}

/// Returns the number of each partition in rows; none for NULL.
pub(crate) fn numbers_of<D: Dialect>(rows: &[RowOf<D>]) -> Result<Vec<(i64, i64)>, SqlError> {
    let mut numbers = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(number) = get_optional_integer::<D>(row, 1)? {
            numbers.push((get_integer::<D>(row, 0)?, number));
        }
    }
    Ok(numbers)
}

/// Returns the place of the statement for so many partitions among those for 1, 2, 4, 8, ..
pub(crate) fn power(parts: usize) -> usize {
    parts.next_power_of_two().ilog2() as usize
}
