//! Change handlers that change the row of the state that is being stored.

use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeHandler, ExtensionError, Session, Sql, StateChange, StateDelete, StateExtensions,
    StateStore, StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use super::with_handler;
use crate::Tables;
use crate::states::{id, revision_of, state, store};

/// Runs statements, and succeeds if they do.
///
/// In them `{slice}` stands for the columns that come from the slice.
pub(super) struct Statements(pub(super) Vec<String>);

impl Statements {
    pub(super) fn new(tables: &dyn Tables, texts: &[&str]) -> Self {
        let slice = tables.columns_of_slice();
        let texts = texts.iter().map(|text| text.replace("{slice}", slice));
        Self(texts.collect())
    }
}

#[async_trait]
impl ChangeHandler for Statements {
    async fn process(
        &self,
        session: &mut dyn Session,
        _change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        for statement in &self.0 {
            session
                .execute(Sql::assert_safe(statement.clone()), [])
                .await?;
        }
        Ok(())
    }
}

const COPY_AT_7: &str = "\
INSERT INTO durable_state (persistence_id, {slice}, revision, deleted, timestamp, tags, serializer_id, manifest, payload,
    checksum, ordering)
SELECT 'Test|a', {slice}, 7, deleted, timestamp, tags, serializer_id, manifest, payload, NULL, ordering
FROM durable_state WHERE persistence_id = 'Test|other'";

/// Statements after which the row of a state is another one, whether or not its checksum says so.
const CHANGES: &[&[&str]] = &[
    &["UPDATE durable_state SET revision = revision + 1 WHERE persistence_id = 'Test|a'"],
    &[
        "UPDATE durable_state SET revision = revision + 1, checksum = NULL WHERE persistence_id = 'Test|a'",
    ],
    &[
        "UPDATE durable_state SET manifest = 'other', checksum = NULL WHERE persistence_id = 'Test|a'",
    ],
    &[
        "UPDATE durable_state SET tags = '[\"other\"]', checksum = NULL WHERE persistence_id = 'Test|a'",
    ],
    &["UPDATE durable_state SET checksum = 1 WHERE persistence_id = 'Test|a'"],
    &[
        "UPDATE durable_state SET deleted = NOT deleted, payload = NULL, checksum = NULL WHERE persistence_id = 'Test|a'",
    ],
    &[
        "DELETE FROM durable_state WHERE persistence_id = 'Test|a'",
        COPY_AT_7,
    ],
];

/// Statements after which a tombstone is none, or of another revision.
const CHANGES_OF_TOMBSTONES: &[&[&str]] = &[
    &[
        "UPDATE durable_state SET revision = revision + 1, checksum = NULL WHERE persistence_id = 'Test|a'",
    ],
    &["DELETE FROM durable_state WHERE persistence_id = 'Test|a'"],
    &[
        "DELETE FROM durable_state WHERE persistence_id = 'Test|a'",
        COPY_AT_7,
    ],
];

async fn open(tables: &dyn Tables, statements: &[&str]) -> Arc<dyn StateStore> {
    let extensions = with_handler(Statements::new(tables, statements));
    tables.open_with_handlers(&extensions).await
}

fn assert_refused(what: &[&str], result: Result<(), StorageError>) {
    let error = result.expect_err(&format!("{what:?} changed the state that was stored"));
    assert_eq!(
        error.kind(),
        StorageErrorKind::Extension,
        "{what:?}: {error:?}"
    );
    assert!(error.is_not_stored(), "{what:?}: {error:?}");
}

/// A handler may change the row of the state that is being stored: then the change is not acknowledged, and nothing of it is
/// stored, whether it is the first one, another one, or a delete.
///
/// # Panics
/// If it is acknowledged, or something of it is stored.
pub async fn a_state_that_its_handler_changes_is_not_acknowledged(tables: &dyn Tables) {
    let plain = tables.open_with_handlers(&StateExtensions::default()).await;
    store(&*plain, state("other", 1)).await;
    for statements in CHANGES {
        let states = open(tables, statements).await;
        for revision in 1..=2 {
            assert_refused(statements, states.upsert(state("a", revision)).await);
            assert_eq!(revision_of(&*plain, "a").await, revision - 1);
            store(&*plain, state("a", revision)).await;
        }
        let removed = plain.hard_delete(&id("a")).await;
        assert!(removed.expect("the state can be removed"));
    }
    store(&*plain, state("a", 1)).await;
    for statements in CHANGES_OF_TOMBSTONES {
        let states = open(tables, statements).await;
        assert_refused(
            statements,
            states.delete(StateDelete::new(id("a"), 2)).await,
        );
        let current = plain.get(&id("a")).await.expect("the state can be read");
        assert!(
            current.revision == 1 && current.state.is_some(),
            "{current:?}"
        );
    }
}

/// A handler may store the state again whose row is being removed: then the removal is not acknowledged, and the state is
/// what it was.
///
/// # Panics
/// If it is acknowledged, or something of it is stored.
pub async fn a_removal_that_its_handler_undoes_is_not_acknowledged(tables: &dyn Tables) {
    let plain = tables.open_with_handlers(&StateExtensions::default()).await;
    store(&*plain, state("other", 1)).await;
    store(&*plain, state("a", 1)).await;
    let statements = &[COPY_AT_7];
    let states = open(tables, statements).await;
    let removed = states.hard_delete(&id("a")).await;
    assert_refused(statements, removed.map(drop));
    assert_eq!(revision_of(&*plain, "a").await, 1);
}

/// A handler may write to the row as long as the state stays what it is.
///
/// # Panics
/// If it is refused.
pub async fn a_row_that_its_handler_writes_as_it_was_is_stored(tables: &dyn Tables) {
    let same = &[
        "UPDATE durable_state SET revision = revision, payload = payload WHERE persistence_id = 'Test|a'",
    ];
    let states = open(tables, same).await;
    store(&*states, state("a", 1).with_tags(["red", "gr:een", "red"])).await;
    let deleted = states.delete(StateDelete::new(id("a"), 2)).await;
    deleted.expect("the tombstone is the one that was stored");
    store(&*states, state("a", 3)).await;
    assert_eq!(revision_of(&*states, "a").await, 3);
}
