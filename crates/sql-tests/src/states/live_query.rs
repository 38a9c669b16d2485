//! Queries as an application sees them.

use std::collections::BTreeMap;

use actix_persistence_persistent_actor::State;
use actix_persistence_query::{DurableStateQuery, QuerySettings};
use actix_persistence_state_actor::{StateHandle, StateSettings};
use actix_persistence_storage_api::{PersistenceId, Revision, StateOffset};
use actix_persistence_store_actor::StoreThread;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::Tables;

use super::state;

const IDS: usize = 20;
const REVISIONS: Revision = 50;

/// The state that [`state`] stores.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Number(Revision);

impl State for Number {
    const MANIFEST: &'static str = "test.state";
    const VERSION: u32 = 1;
}

/// A thousand updates while a live query runs: every last state is seen, typed, and no id goes back.
///
/// # Panics
/// If one is not seen, or an id goes back.
pub async fn a_live_query_gives_every_last_state_of_a_thousand(tables: &dyn Tables) {
    let thread = StoreThread::start("states").expect("there is a thread");
    let (settings, runtime) = (StateSettings::new("tests"), Handle::current());
    let handle = StateHandle::start(tables.open().await, settings, runtime.clone(), &thread);
    let settings = QuerySettings::default().with_page_size(30);
    let queries = DurableStateQuery::new(handle.clone(), runtime, (), settings);
    let queries = queries.expect("there are queries");
    let mut changes = queries.changes_by_slices::<Number>("Test", 0..=1023, StateOffset::start());
    let write = async {
        for revision in 1..=REVISIONS {
            let updates =
                (0..IDS).map(|number| handle.upsert(state(&number.to_string(), revision)));
            for update in updates.collect::<Vec<_>>() {
                update.await.expect("it is stored");
            }
        }
    };
    let read = async {
        let mut last: BTreeMap<PersistenceId, Revision> = BTreeMap::new();
        while last.len() < IDS || last.values().any(|revision| *revision < REVISIONS) {
            let change = changes.next().await.expect("it goes on");
            let change = change.expect("it can be read");
            let revision = change.revision();
            assert_eq!(change.state(), Some(&Number(revision)));
            let before = last.insert(change.persistence_id().clone(), revision);
            assert!(before < Some(revision), "{change:?} after {before:?}");
        }
    };
    tokio::join!(write, read);
}
