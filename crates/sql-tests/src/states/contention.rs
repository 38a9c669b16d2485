//! Tests of many writers of one id.

use std::sync::Arc;

use actix_persistence_storage_api::{Revision, StateStore, StorageErrorKind};
use futures_util::future::join_all;

use crate::Tables;

use super::{revision_of, state};

/// The number of stores, as of this many processes, each with several writers.
const STORES: usize = 5;
const WRITERS: usize = 10;

/// Fifty writers of one id, each of which stores one revision: every revision is stored once, and each loser gets a
/// conflict.
///
/// # Panics
/// If a revision is stored twice or left out, or if a writer meets anything but conflicts.
pub async fn many_writers_store_each_revision_once(tables: &dyn Tables) {
    let mut writers = Vec::new();
    let mut stores = Vec::new();
    for _ in 0..STORES {
        let store = tables.open().await;
        for _ in 0..WRITERS {
            writers.push(tokio::spawn(store_one(Arc::clone(&store))));
        }
        stores.push(store);
    }
    let stored = join_all(writers).await.into_iter();
    let mut stored: Vec<Revision> = stored.map(|it| it.expect("no writer fails")).collect();
    stored.sort_unstable();
    let all = (STORES * WRITERS) as Revision;
    assert_eq!(stored, (1..=all).collect::<Vec<_>>());
    for store in stores {
        assert_eq!(revision_of(&*store, "contended").await, all);
    }
}

/// Stores the next revision, whatever it is by then.
async fn store_one(store: Arc<dyn StateStore>) -> Revision {
    loop {
        let next = revision_of(&*store, "contended").await + 1;
        match store.upsert(state("contended", next)).await {
            Ok(()) => return next,
            Err(error) => {
                assert_eq!(
                    error.kind(),
                    StorageErrorKind::RevisionConflict,
                    "{error:?}"
                );
                let found = error.revision_conflict().map(|conflict| conflict.found);
                assert!(found >= Some(next), "{next} was refused: {error:?}");
            }
        }
    }
}
