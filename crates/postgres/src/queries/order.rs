//! The order of commits: the numbers of what is stored, and how far readers may go. See docs/adr/0014-base-and-bound.md.
//!
//! A number is the base of the store plus the number of the transaction. A transaction that stores something first takes a
//! shared advisory lock, before it has a number: its key names the store, and a number that is not above the
//! transaction's own. Readers stop at the lowest one.

use actix_persistence_sql::SqlNames;
use sqlx::SqlStr;

/// The place in a key of what tells stores apart; numbers of transactions have the 48 bits below.
const CLASS_AT: u32 = 48;
/// The class in which a transaction announces itself to the readers of every store of the database.
const ANY_STORE: u64 = 1;

/// True always; announces the transaction, unless it has a number: then it is too late, and was done before.
///
/// A number is assigned no earlier than with the first row that depends on this value.
const ANNOUNCED: &str = "\
(CASE WHEN pg_current_xact_id_if_assigned() IS NULL
      THEN pg_advisory_xact_lock_shared({key} | pg_snapshot_xmax(pg_current_snapshot())::text::bigint)::text
 END IS DISTINCT FROM 'never')";

/// The number of what a statement stores; assigns the transaction its own, after it was `{announced}`.
const NUMBER: &str = "\
SELECT CASE WHEN {announced} THEN o.base + pg_current_xact_id()::text::bigint END AS ordering
FROM {ordering} AS o WHERE o.is_only";

/// The number below which nothing is added any more.
const BOUND: &str = include_str!("bound.sql");

/// Begins a transaction that stores rows of several tables, after it is announced to the readers of all of them.
///
/// The number is 1, the class of any store, 48 bits further up.
pub(crate) const BEGIN_STORING: &str = "\
BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE; \
SELECT pg_advisory_xact_lock_shared(281474976710656 | pg_snapshot_xmax(pg_current_snapshot())::text::bigint)";

const _: () = assert!(ANY_STORE << CLASS_AT == 281_474_976_710_656);

/// The order of the rows of one table.
#[derive(Debug)]
pub(super) struct Order {
    /// The placeholder of the table that has the base.
    ordering: &'static str,
    class: u64,
}

impl Order {
    /// Returns the order of a table; both names are those of placeholders, in braces.
    pub(super) fn of(names: &SqlNames, table: &str, ordering: &'static str) -> Self {
        let class = class_of(names.fill(table).as_str());
        Self { ordering, class }
    }

    /// Returns the text with every placeholder in its place: `{announced}`, `{number}`, `{bound}`, and those of `names`.
    pub(super) fn fill(&self, names: &SqlNames, text: &str) -> SqlStr {
        let key = (self.class << CLASS_AT).to_string();
        let text = text
            .replace("{bound}", BOUND)
            .replace("{number}", NUMBER)
            .replace("{announced}", ANNOUNCED)
            .replace("{ordering}", self.ordering)
            .replace("{key}", &key)
            .replace("{class}", &self.class.to_string())
            .replace("{any_store}", &ANY_STORE.to_string());
        names.fill(&text)
    }
}

/// Returns the channel of hints about events of a table, whose schema and name are as they stand in a quoted name.
///
/// A channel has 63 bytes at most, which a name of a table may have by itself.
pub(crate) fn channel_of(schema: &str, event_table: &str) -> String {
    let class = class_of(&format!("\"{schema}\".\"{event_table}\""));
    format!("actix_persistence_events_{class}")
}

/// Returns 15 bits for a table, the same in every process.
///
/// Two tables may have the same ones: then a transaction of the one delays readers of the other.
fn class_of(table: &str) -> u64 {
    const FIRST: u64 = ANY_STORE + 1;
    // FNV-1a.
    let hash = table.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    FIRST + (hash ^ (hash >> 32)) % (0x8000 - FIRST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_classes_that_stay_and_fit_into_a_positive_key() {
        let classes = [
            "\"public\".\"event_journal\"",
            "\"public\".\"durable_state\"",
            "",
        ];
        let classes = classes.map(class_of);
        assert_eq!(classes, [1772, 17584, 19133]);
        for number in 0..100_000 {
            let class = class_of(&format!("\"public\".\"t{number}\""));
            assert!(class > ANY_STORE && class < 1 << 15, "{class}");
        }
    }
}
