//! Checks at the start: tables that are not whole, or that are not where the states are.

use std::sync::Arc;

use actix_persistence_storage_api::{
    AdditionalColumn, ChangedState, ColumnValue, ExtensionError, SqlValue, StateChange,
    StateChangesQuery, StateDelete, StateExtensions, StateOffset, StateStore, StorageError,
    StorageErrorKind,
};

use crate::Tables;

use super::{id, state, store};

/// The entity type of the ids here.
const ENTITY_TYPE: &str = "Test";

/// A column that is gone from whichever table is named when the stores are opened, with its table: no call waits for it, and
/// no error says that initialising would bring it back.
///
/// # Panics
/// If one is not found.
pub async fn a_lost_column_of_any_table_is_named_at_the_start(tables: &dyn Tables) {
    let nothing = StateExtensions::default();
    let initialize = async || tables.initialize_all(&nothing).await;
    initialize().await.expect("the tables can be made");
    let columns = tables.columns().await;
    for expected in [
        "event_journal",
        "event_tag",
        "journal_metadata",
        "snapshot",
        "durable_state",
    ] {
        assert!(
            columns.iter().any(|(table, _)| table == expected),
            "{columns:?}"
        );
    }
    for (table, column) in columns {
        let rename =
            |from: &str, to: &str| format!("ALTER TABLE {table} RENAME COLUMN {from} TO {to}");
        tables.run(&rename(&column, "lost")).await;
        let message = mismatch(initialize().await);
        let named = format!("the table '{table}'");
        assert!(
            message.contains(&named) && message.contains(&format!("no column '{column}'")),
            "{message}"
        );
        assert!(!message.contains("auto-initialize"), "{message}");
        tables.run(&rename("lost", &column)).await;
    }
    initialize().await.expect("nothing is missing any more");
}

/// A column of the application that never has a value, and its type, if it names one.
struct Empty(&'static str, Option<&'static str>);

impl AdditionalColumn for Empty {
    fn column_name(&self) -> &str {
        self.0
    }

    fn sql_type(&self, database: &str) -> Option<&str> {
        assert!(
            ["sqlite", "postgres", "mysql"].contains(&database),
            "{database}"
        );
        self.1
    }

    fn bind(&self, _change: &StateChange<'_>) -> Result<ColumnValue, ExtensionError> {
        Ok(ColumnValue::Set(SqlValue::Null))
    }
}

/// The first start of an application makes the table and misses the columns in it: all of them are named, with statements that
/// are right but for the type.
///
/// # Panics
/// If that is not so.
pub async fn columns_that_the_first_start_misses_come_with_what_adds_them(tables: &dyn Tables) {
    let mut extensions = StateExtensions::default();
    let of_type = extensions.entity_type(ENTITY_TYPE);
    of_type.table = Some("test_state".to_owned());
    of_type.columns = vec![
        Arc::new(Empty("title", None)),
        Arc::new(Empty("order", None)),
    ];
    let message = mismatch(tables.initialize_all(&extensions).await);
    let parts: Vec<_> = message.split(" <type>;").collect();
    let [first, second, _] = parts.as_slice() else {
        panic!("{message}")
    };
    for part in [first, second] {
        let begin = part.find("ALTER TABLE").expect("a statement");
        tables.run(&format!("{} INTEGER", &part[begin..])).await;
    }
    let states = tables.open_with(&extensions).await;
    store(&*states, state("a", 1)).await;
    let filled = "SELECT COUNT(*) FROM test_state WHERE title IS NULL";
    assert_eq!(tables.number(filled).await, 1);
}

/// A column that has a type is added to a table that holds states already, by whichever of several stores comes first.
///
/// # Panics
/// If it is not, or not once.
pub async fn a_column_with_a_type_is_added_by_one_of_several_stores(tables: &dyn Tables) {
    let states = tables.open().await;
    store(&*states, state("old", 1)).await;
    let extensions = with_columns(&[("title", "TEXT"), ("order", "INTEGER DEFAULT 7")]);
    let stores: Vec<_> = (0..4)
        .map(|_| {
            let made = tables.plugin().state_store(&tables.section(), &extensions);
            made.expect("the section is that of a state store")
        })
        .collect();
    let initialized = futures_util::future::join_all(stores.iter().map(|store| store.initialize()));
    for outcome in initialized.await {
        outcome.expect("the columns are there");
    }
    store(&*stores[0], state("new", 1)).await;
    // The state that was there has the default, the other what the column says.
    let quoted = tables.quoted("order");
    let filled = format!("SELECT COUNT(*) FROM durable_state WHERE title IS NULL AND {quoted} = 7");
    assert_eq!(tables.number(&filled).await, 1);
    // A later start finds them.
    tables
        .initialize_all(&extensions)
        .await
        .expect("nothing is missing");
    for store in stores {
        store.close().await;
    }
}

/// Without `auto-initialize` a store makes no column, and prints the statement that does, with the type.
///
/// # Panics
/// If that is not so.
pub async fn a_column_with_a_type_is_not_added_without_being_asked_to(tables: &dyn Tables) {
    let states = tables.open().await;
    store(&*states, state("a", 1)).await;
    let section = tables.section().with("auto-initialize", false);
    let extensions = with_columns(&[("title", "TEXT")]);
    let made = tables.plugin().state_store(&section, &extensions);
    let without = made.expect("the section is that of a state store");
    let message = mismatch(without.initialize().await);
    assert!(
        message.contains("'auto-initialize = true'") && message.contains("'title'"),
        "{message}"
    );
    let begin = message.find("ALTER TABLE").expect("a statement");
    let (statement, _) = message[begin..].split_once(';').expect("the end of it");
    assert!(statement.ends_with(" TEXT"), "{statement}");
    tables.run(statement).await;
    without.initialize().await.expect("the column is there");
    without.close().await;
}

/// The type of a column ends neither its statement nor the column.
///
/// # Panics
/// If one that would is no mistake.
pub async fn a_type_of_a_column_that_is_no_type_is_a_mistake(tables: &dyn Tables) {
    let extensions = with_columns(&[("title", "TEXT; DROP TABLE durable_state")]);
    let made = tables.plugin().state_store(&tables.section(), &extensions);
    let errors = made.err().expect("it is a mistake").to_string();
    for part in [
        "additional-columns",
        "have a column 'title', whose type must have no characters but",
    ] {
        assert!(errors.contains(part), "{errors}");
    }
}

pub(super) fn with_columns(columns: &[(&'static str, &'static str)]) -> StateExtensions {
    let mut extensions = StateExtensions::default();
    let of_type = extensions.entity_type(ENTITY_TYPE);
    for &(name, sql_type) in columns {
        of_type.columns.push(Arc::new(Empty(name, Some(sql_type))));
    }
    extensions
}

/// The statements that a person runs instead of `auto-initialize` make what a store needs.
///
/// # Panics
/// If they do not.
pub async fn the_printed_statements_make_the_tables_that_a_store_expects(tables: &dyn Tables) {
    let section = tables.section().with("auto-initialize", false);
    let extensions = with_columns(&[("title", "TEXT")]);
    let script = tables
        .plugin()
        .state_store_schema(&section, &extensions, None);
    let script = script.expect("the section has no mistake");
    tables.run(&script.expect("there are tables to make")).await;
    let states = tables.state_store_with(section, &extensions).await;
    store(&*states, state("a", 1)).await;
}

/// A table that is gone while a store is in use is no trouble that waiting could cure.
///
/// # Panics
/// If the error is of another kind.
pub async fn a_table_that_was_dropped_is_a_mismatch(tables: &dyn Tables) {
    let states = tables.open().await;
    store(&*states, state("a", 1)).await;
    tables.run("DROP TABLE durable_state").await;
    mismatch(states.get(&id("a")).await.map(drop));
    mismatch(states.upsert(state("a", 2)).await);
    mismatch(states.delete(StateDelete::new(id("a"), 2)).await);
}

/// States do not vanish when their entity type gets a table of its own: the start fails until they are moved there, as the
/// guide says, and then goes on with revisions and offsets.
///
/// # Panics
/// If it does not.
pub async fn a_table_of_its_own_does_not_hide_what_is_stored(tables: &dyn Tables) {
    let states = tables.open().await;
    for revision in 1..=3 {
        store(&*states, state("kept", revision)).await;
    }
    states
        .delete(StateDelete::new(id("gone"), 1))
        .await
        .expect("it can be deleted");
    // Neighbours in the order of ids, which are not of the type.
    for other in ["Tes|t", "Test}", "Testa|1", "Test"] {
        tables.run(&copy_of_kept(tables, other)).await;
    }
    let own = own_table(ENTITY_TYPE, "test_state");
    let message = mismatch(tables.initialize_all(&own).await);
    for part in [
        "'durable_state'",
        "\"Test\"",
        "'test_state'",
        "'custom-table'",
    ] {
        assert!(message.contains(part), "{message}");
    }
    // A tombstone keeps a revision, which would be given again.
    tables
        .run("DELETE FROM durable_state WHERE persistence_id = 'Test|kept'")
        .await;
    mismatch(tables.initialize_all(&own).await);

    store(&*states, state("kept", 1)).await;
    store(&*states, state("late", 1)).await;
    let before = changes(&*states, StateOffset::start(), 3).await;
    for sql in MOVE {
        let sql = sql.replace("{slice}", tables.columns_of_slice());
        tables.run(&sql).await;
    }
    // Each database has one of these tables.
    let mut kept = Vec::new();
    for sql in MOVE_NUMBERS {
        kept.extend(tables.try_run(sql).await);
    }
    assert_eq!(kept.len(), 1);
    tables
        .initialize_all(&own)
        .await
        .expect("nothing of the type is there any more");
    let states = tables.open_with(&own).await;
    let after = changes(&*states, StateOffset::start(), 3).await;
    assert_eq!(after, before);
    let last = after[2].offset.clone();
    store(&*states, state("kept", 2)).await;
    let changed = changes(&*states, last, 1).await;
    assert_eq!(
        (&changed[0].persistence_id, changed[0].current.revision),
        (&id("kept"), 2)
    );

    // An id without a type, and a type that comes from a table which others use still.
    let without_type = own_table("", "other_state");
    mismatch(tables.initialize_all(&without_type).await);
    let mut moved = own_table("Other", "test_state");
    moved.entity_type(ENTITY_TYPE).table = Some("durable_state".to_owned());
    mismatch(tables.initialize_all(&moved).await);
}

/// The statements that the guide recommends.
const MOVE: [&str; 2] = [
    "INSERT INTO test_state (persistence_id, revision, ordering, deleted, {slice}, timestamp, tags, serializer_id, manifest, \
         payload, checksum) \
     SELECT persistence_id, revision, ordering, deleted, {slice}, timestamp, tags, serializer_id, manifest, payload, checksum \
     FROM durable_state WHERE entity_type = 'Test'",
    "DELETE FROM durable_state WHERE entity_type = 'Test'",
];

/// The statements that the guide recommends for the tables that keep the numbers of changes.
const MOVE_NUMBERS: [&str; 2] = [
    "UPDATE test_state_ordering SET newest = (SELECT o.newest FROM durable_state_ordering AS o \
         WHERE o.partition_nr = test_state_ordering.partition_nr)",
    "INSERT INTO test_state_removed (ordering) SELECT ordering FROM durable_state_removed",
];

/// Returns this many changes, which a server shows when no older transaction that stores states is under way.
async fn changes(states: &dyn StateStore, after: StateOffset, count: usize) -> Vec<ChangedState> {
    let queries = states.queries().expect("the store has queries");
    loop {
        let query = StateChangesQuery::new(ENTITY_TYPE, 100).after(after.clone());
        let page = queries.changes(query).await.expect("they can be read");
        assert!(page.changes.len() <= count, "{page:?}");
        if page.changes.len() == count {
            return page.changes;
        }
    }
}

fn own_table(entity_type: &str, table: &str) -> StateExtensions {
    let mut extensions = StateExtensions::default();
    extensions.entity_type(entity_type).table = Some(table.to_owned());
    extensions
}

fn copy_of_kept(tables: &dyn Tables, id: &str) -> String {
    let slice = tables.columns_of_slice();
    format!(
        "INSERT INTO durable_state (persistence_id, revision, ordering, deleted, {slice}, timestamp, tags, serializer_id, \
             manifest, payload) \
         SELECT '{id}', revision, ordering, deleted, {slice}, timestamp, tags, serializer_id, manifest, payload \
         FROM durable_state WHERE persistence_id = 'Test|kept'"
    )
}

/// Checks that the tables are not what the store works with, and returns what it says.
fn mismatch(result: Result<(), StorageError>) -> String {
    let error = result.expect_err("the tables are not those of the store");
    assert_eq!(error.kind(), StorageErrorKind::SchemaMismatch, "{error:?}");
    assert!(!error.kind().is_transient());
    error.to_string()
}
