//! The place of a time in the order of commits.

use std::time::Duration;

use actix_persistence_storage_api::{
    NUMBER_OF_SLICES, Offset, Partition, Position, StorageError, Timestamp,
};

/// Returns the time that is earlier by this margin.
pub(crate) fn earlier(time: Timestamp, margin: Duration) -> Timestamp {
    let micros = i64::try_from(margin.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(time.as_micros().saturating_sub(micros))
}

/// Things that stand in the order of their commits, with the times of their writers.
pub(crate) trait Timed {
    type Position: Position;

    /// Returns the time of the first thing of these slices after an offset, and the offset after it; `None` if there is none.
    async fn first_after(
        &self,
        slices: std::ops::RangeInclusive<u16>,
        after: Offset<Self::Position>,
    ) -> Result<Option<(Timestamp, Offset<Self::Position>)>, StorageError>;

    /// Returns the lowest number that may follow a place, without the rest of what has the same number as the last one.
    fn next_number(place: &Self::Position) -> i64;
}

/// A search for a time in the numbers of a partition.
pub(crate) struct Search<'t, T> {
    pub(crate) things: &'t T,
    pub(crate) partition: Partition,
    pub(crate) time: Timestamp,
}

impl<T: Timed> Search<'_, T> {
    /// Returns the place after a thing that is earlier than the time, which nothing follows that is, below the number
    /// `end`, as far as things come in the order of their times; `None` if the first one is not earlier.
    pub(crate) async fn last_before(&self, end: i64) -> Result<Option<T::Position>, StorageError> {
        let Some(mut last) = self.earlier_at(None).await? else {
            return Ok(None);
        };
        // Nothing is earlier from this number on.
        let mut high = end;
        loop {
            // The others with the number of the last one are left to the reader.
            let low = T::next_number(&last);
            if low >= high {
                return Ok(Some(last));
            }
            let middle = low.midpoint(high);
            match self.earlier_at(Some(middle)).await? {
                Some(later) => last = later,
                None => high = middle,
            }
        }
    }

    /// Returns the place after the first thing with this number or a higher one if it is earlier than the time.
    async fn earlier_at(&self, number: Option<i64>) -> Result<Option<T::Position>, StorageError> {
        let mut after = Offset::start();
        if let Some(number) = number {
            after.pass(self.partition, number.saturating_sub(1));
        }
        let size = NUMBER_OF_SLICES / self.partition.of();
        let first = self.partition.nr() * size;
        let found = self
            .things
            .first_after(first..=first + (size - 1), after)
            .await?;
        let found = found.filter(|(time, _)| *time < self.time);
        Ok(found.and_then(|(_, offset)| offset.position(self.partition).cloned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_of_any_length_is_taken_from_any_time() {
        let time = Timestamp::from_micros(5_000_000);
        let second = Duration::from_secs(1);
        assert_eq!(earlier(time, second), Timestamp::from_micros(4_000_000));
        assert_eq!(earlier(Timestamp::MIN, second), Timestamp::MIN);
        assert!(earlier(time, Duration::MAX) < Timestamp::from_micros(-i64::MAX / 2));
    }
}
