//! Columns that an application adds to the table.

use std::error::Error;

use actix_persistence_storage_api::{StateDelete, StorageError, StorageErrorKind};

use crate::Tables;

use super::{assert_conflict, id, revision_of, state, store};

/// A column that must be unique, or something else, refuses a state by an error of its own, and a conflict stays one.
///
/// # Panics
/// If one is taken for the other.
pub async fn a_rule_of_an_added_column_is_no_conflict(tables: &dyn Tables) {
    let states = tables.open().await;
    let low = "ALTER TABLE durable_state ADD COLUMN low INTEGER DEFAULT 2 CHECK (low < 2)";
    tables.run(low).await;
    assert_refused(states.upsert(state("first", 1)).await);
    for sql in [
        "ALTER TABLE durable_state DROP COLUMN low",
        "ALTER TABLE durable_state ADD COLUMN one INTEGER DEFAULT 1",
        "CREATE UNIQUE INDEX one_only ON durable_state (one)",
    ] {
        tables.run(sql).await;
    }
    store(&*states, state("first", 1)).await;
    assert_refused(states.upsert(state("second", 1)).await);
    assert_refused(states.delete(StateDelete::new(id("second"), 1)).await);
    assert_eq!(revision_of(&*states, "second").await, 0);
    // Breaks the rule, too; but there is a state, which comes first.
    assert_conflict(states.upsert(state("first", 1)).await, 0, 1);
    store(&*states, state("first", 2)).await;

    tables.run("UPDATE durable_state SET one = 2").await;
    store(&*states, state("second", 1)).await;
    let tool = tables.open_for_any_revision().await;
    assert_refused(tool.upsert(state("third", 4)).await);
    let count = tables.number("SELECT COUNT(*) FROM durable_state").await;
    assert_eq!(count, 2);
}

/// Checks that a rule of the application refused a state.
pub(super) fn assert_refused(result: Result<(), StorageError>) {
    let error = result.expect_err("the rule refuses it");
    assert_eq!(error.kind(), StorageErrorKind::Constraint, "{error:?}");
    assert!(error.is_not_stored(), "{error:?}");
    assert!(error.to_string().contains("added to the table"), "{error}");
    assert!(error.source().is_some(), "{error:?}");
}
