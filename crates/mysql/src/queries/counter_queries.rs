//! The statements that take numbers from the counters of a store.

use actix_persistence_sql::{Partitions, SqlNames};
use sqlx::SqlStr;

use super::{BEFORE_NEXT, partitions_of, powers_of_partitions};

/// The statements of the counters of one table.
#[derive(Debug)]
pub(crate) struct CounterQueries {
    /// The partitions of the tables.
    pub(crate) partitions: Partitions,
    /// Numbers rows of one partition. Values: the number of rows, partition. What it returns as id of an insert is
    /// the newest number, and the last one of these rows.
    pub(crate) raise_one: SqlStr,
    /// Number rows of 1, 2, 4, 8, .. partitions. Values: for each a partition and the number of rows, then the
    /// partitions again; one may be there several times.
    pub(crate) raise_many: Vec<SqlStr>,
    /// The newest numbers of 1, 2, 4, 8, .. partitions. Values: partitions. Returns: partition, newest number.
    pub(crate) newest: Vec<SqlStr>,
}

pub(super) const RAISE_ONE: &str = "\
UPDATE {counters} SET newest = LAST_INSERT_ID({before_next} + ?) WHERE partition_nr = ?";

/// Numbers the rows of many partitions. Without the forced index the server would lock all rows of the table, and
/// wait for those that it does not change.
pub(super) const RAISE_MANY: &str = "\
UPDATE {counters} FORCE INDEX (PRIMARY) SET newest = {before_next} + CASE partition_nr{cases} END
WHERE partition_nr IN ({several}) ORDER BY partition_nr";

const NEWEST: &str = "\
SELECT partition_nr, newest FROM {counters} WHERE partition_nr IN ({several}) ORDER BY partition_nr";

impl CounterQueries {
    /// Makes the statements for the counters in a table, whose placeholder is given in braces.
    pub(super) fn new(counters: &str, names: &SqlNames) -> Self {
        let fill = |text: &str| {
            let text = text.replace("{counters}", counters);
            names.fill(&text.replace("{before_next}", BEFORE_NEXT))
        };
        let of_partitions = |text: &str| {
            powers_of_partitions(|number| {
                let text = text.replace("{several}", &vec!["?"; number].join(", "));
                fill(&text.replace("{cases}", &" WHEN ? THEN ?".repeat(number)))
            })
        };
        Self {
            partitions: partitions_of(names),
            raise_one: fill(RAISE_ONE),
            raise_many: of_partitions(RAISE_MANY),
            newest: of_partitions(NEWEST),
        }
    }
}
