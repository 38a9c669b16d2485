//! The number of partitions that the tables of a store have.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use actix_persistence_storage_api::{Partition, StorageErrorKind};

use crate::{InvalidOption, SqlError};

/// The number of [`Partition`]s by which the rows of a store are numbered.
///
/// It is chosen when the tables are made, and kept in the table of counters: each row holds it beside the number of its
/// own partition. A store reads it when it is opened; clones share what was read.
#[derive(Clone, Debug)]
pub struct Partitions {
    wanted: Option<u16>,
    /// The number that the tables have; 0 before it was read.
    found: Arc<AtomicU16>,
}

impl Partitions {
    /// The number for tables that are made where no other is wanted.
    pub const DEFAULT: u16 = 8;

    /// Returns partitions of this number, or, if it is `None`, of any that the tables have.
    ///
    /// # Errors
    /// If slices cannot be divided into so many; the error names the key.
    pub fn new(key: &'static str, wanted: Option<u16>) -> Result<Self, InvalidOption> {
        if wanted.is_some_and(|wanted| !Partition::divides(wanted)) {
            return Err(InvalidOption::new(
                key,
                format!("must be a power of two, at most {}", Partition::MOST),
            ));
        }
        Ok(Self {
            wanted,
            found: Arc::default(),
        })
    }

    /// Returns the number for tables that are made.
    pub fn of_new_tables(&self) -> u16 {
        self.wanted.unwrap_or(Self::DEFAULT)
    }

    /// Takes the number that the tables have from their counters: for each the number of its partition, and that of all
    /// partitions.
    ///
    /// # Errors
    /// If the settings name another number, or a counter is missing.
    pub fn find(&self, counters: &[(i64, i64)]) -> Result<(), SqlError> {
        let count = counters.len();
        let found = u16::try_from(count).ok();
        let found = found.filter(|found| Partition::divides(*found));
        let is_whole = |of: u16| {
            let mut numbers: Vec<_> = counters.iter().map(|(nr, _)| *nr).collect();
            numbers.sort_unstable();
            numbers.into_iter().eq(0..i64::from(of))
                && counters.iter().all(|(_, all)| *all == i64::from(of))
        };
        let Some(found) = found.filter(|found| is_whole(*found)) else {
            return Err(SqlError::corrupt(format!(
                "the table that numbers rows has {count} counters, which are not those of all partitions; restore them, each \
                 with the highest 'ordering' of its partition"
            )));
        };
        if let Some(wanted) = self.wanted.filter(|wanted| *wanted != found) {
            return Err(SqlError::mismatch(format!(
                "the tables were made with 'counter-partitions = {found}', and the settings say {wanted}; leave the key out, set \
                 it as it was then, or choose other table names"
            )));
        }
        self.found.store(found, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the number that the tables have.
    ///
    /// # Errors
    /// If it was not read yet.
    pub fn number(&self) -> Result<u16, SqlError> {
        match self.found.load(Ordering::Relaxed) {
            0 => Err(SqlError::refused(
                StorageErrorKind::Unavailable,
                "it is not initialised yet",
            )),
            found => Ok(found),
        }
    }

    /// Returns the partition of a slice.
    ///
    /// # Errors
    /// If the number of partitions was not read yet.
    pub fn of_slice(&self, slice: u16) -> Result<Partition, SqlError> {
        let partition = Partition::of_slice(slice, self.number()?);
        Ok(partition.expect("every slice has a partition"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(of: i64) -> Vec<(i64, i64)> {
        (0..of).rev().map(|nr| (nr, of)).collect()
    }

    #[test]
    fn what_the_tables_have_is_taken_unless_another_number_is_wanted() {
        let partitions = Partitions::new("key", None).unwrap();
        assert_eq!(partitions.of_new_tables(), 8);
        let clone = partitions.clone();
        assert!(clone.number().is_err() && clone.of_slice(0).is_err());
        for of in [1, 8, 64] {
            partitions.find(&counters(of)).unwrap();
            assert_eq!(clone.number().unwrap(), of as u16);
        }
        assert_eq!(clone.of_slice(1_023).unwrap().nr(), 63);
        let wanted = Partitions::new("key", Some(16)).unwrap();
        assert_eq!(wanted.of_new_tables(), 16);
        wanted.find(&counters(16)).unwrap();
        let error = wanted.find(&counters(8)).unwrap_err();
        assert!(error.is_mismatch());
        let text = format!("{error:?}");
        assert!(text.contains("'counter-partitions = 8'"), "{text}");
    }

    #[test]
    fn counters_that_are_not_those_of_all_partitions_are_refused() {
        let partitions = Partitions::new("key", None).unwrap();
        let lost = counters(8).into_iter().filter(|(nr, _)| *nr < 4);
        for counters in [
            vec![],
            lost.collect(),
            counters(3),
            counters(128),
            vec![(0, 2), (2, 2)],
            vec![(0, 2), (1, 4)],
        ] {
            let error = partitions.find(&counters).unwrap_err();
            assert!(error.is_corrupt(), "{counters:?}");
        }
        assert!(partitions.number().is_err());
    }

    #[test]
    fn slices_are_divided_by_powers_of_two_alone() {
        for wanted in [0, 3, 24, 128, 1_024] {
            let error = Partitions::new("key", Some(wanted)).unwrap_err();
            assert!(error.to_string().contains("a power of two"), "{error}");
        }
    }
}
