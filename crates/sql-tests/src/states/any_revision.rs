//! Stores that tools use which bring states from elsewhere.

use actix_persistence_storage_api::{Revision, StateDelete, StorageErrorKind};

use crate::Tables;

use super::{assert_conflict, id, revision_of, state, store};

/// Checks that without `assert-single-writer` any revision replaces whatever is stored, and that what follows is
/// checked as ever.
///
/// # Panics
/// If a write is refused, or what follows is not checked.
pub async fn without_assert_single_writer_any_revision_replaces_any(tables: &dyn Tables) {
    let tool = tables.open_for_any_revision().await;
    for revision in [5, 3, 3, 1, 9] {
        store(&*tool, state("a", revision)).await;
        let current = tool.get(&id("a")).await.expect("it can be read");
        let payload = current.state.expect("there is a state").payload;
        assert_eq!(current.revision, revision);
        assert_eq!(payload, state("a", revision).payload);
    }
    for revision in [7, 12] {
        let deleted = tool.delete(StateDelete::new(id("a"), revision)).await;
        deleted.expect("it can be deleted at any revision");
        assert_eq!(revision_of(&*tool, "a").await, revision);
    }
    for revision in [0, Revision::MAX] {
        let error = tool.upsert(state("a", revision)).await;
        let error = error.expect_err("no store has a place for it");
        assert_eq!(error.kind(), StorageErrorKind::Unsupported, "{error:?}");
        assert!(error.is_not_stored(), "{error:?}");
    }
    let actor = tables.open().await;
    assert_conflict(actor.upsert(state("a", 12)).await, 11, 12);
    store(&*actor, state("a", 13)).await;
    assert_eq!(revision_of(&*tool, "a").await, 13);
}
