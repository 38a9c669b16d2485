//! Columns whose rules an application chose.

use actix_persistence_storage_api::{ColumnValue, SqlValue, StateDelete};

use super::NextValue;
use crate::Tables;
use crate::states::rules_of_others::assert_refused;
use crate::states::{assert_conflict, id, revision_of, state, store};

/// A column without a default that must not be NULL is filled by the statement that stores the state; a change that leaves
/// it empty is refused, and nothing of it is stored.
///
/// # Panics
/// If it is otherwise.
pub async fn a_column_that_needs_a_value_gets_it(tables: &dyn Tables) {
    tables.open().await;
    // SQLite adds no such column but with a default, and none that has a length.
    let ways = [
        "owner VARCHAR(20) NOT NULL",
        "owner TEXT CHECK (owner IS NOT NULL)",
    ];
    add_column(tables, ways).await;
    let owner = NextValue::of("owner");
    let states = tables.open_with_handlers(&owner.extensions()).await;
    for empty in [ColumnValue::Keep, ColumnValue::Set(SqlValue::Null)] {
        owner.set(empty);
        assert_refused(states.upsert(state("a", 1)).await);
        assert_refused(states.delete(StateDelete::new(id("a"), 1)).await);
        assert_eq!(revision_of(&*states, "a").await, 0);
    }
    owner.set("ada");
    store(&*states, state("a", 1)).await;
    owner.set(ColumnValue::Set(SqlValue::Null));
    assert_refused(states.upsert(state("a", 2)).await);
    assert_refused(states.delete(StateDelete::new(id("a"), 2)).await);
    assert_eq!(revision_of(&*states, "a").await, 1);
    owner.set(ColumnValue::Keep);
    store(&*states, state("a", 2)).await;
    let of_ada = "SELECT COUNT(*) FROM durable_state WHERE owner = 'ada' AND revision = 2";
    assert_eq!(tables.number(of_ada).await, 1);
}

/// A value that must be the only one of its kind refuses a state as such: not as a conflict of revisions, which an actor
/// could only answer by reading the same again. The id stays free.
///
/// # Panics
/// If it is otherwise.
pub async fn a_column_whose_values_are_unique_is_kept_so(tables: &dyn Tables) {
    tables.open().await;
    // MySQL compares no text without a length.
    add_column(tables, ["title VARCHAR(20)", "title TEXT"]).await;
    tables
        .run("CREATE UNIQUE INDEX titles ON durable_state (title)")
        .await;
    let title = NextValue::of("title");
    let states = tables.open_with_handlers(&title.extensions()).await;
    title.set("one");
    store(&*states, state("a", 1)).await;
    assert_refused(states.upsert(state("b", 1)).await);
    assert_eq!(revision_of(&*states, "b").await, 0);
    // Breaks both rules; the revision comes first.
    assert_conflict(states.upsert(state("a", 1)).await, 0, 1);

    title.set("two");
    store(&*states, state("b", 1)).await;
    title.set("one");
    assert_refused(states.upsert(state("b", 2)).await);
    assert_eq!(revision_of(&*states, "b").await, 1);
    // The state that has a title may keep it.
    store(&*states, state("a", 2)).await;
}

/// Adds a column in the first of two ways that the database takes.
async fn add_column(tables: &dyn Tables, [one, other]: [&str; 2]) {
    let add = |column| format!("ALTER TABLE durable_state ADD COLUMN {column}");
    if tables.try_run(&add(one)).await.is_err() {
        tables.run(&add(other)).await;
    }
}
