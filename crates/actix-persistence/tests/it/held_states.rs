//! While a state store does not answer.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence::memory::MemoryStateStore;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{Operation, StateStore};
use actix_persistence_testkit::Intercepted;
use futures_util::FutureExt;

use crate::note::{Note, Write};

#[actix::test]
async fn a_stop_reports_a_state_being_stored_and_drained_waits_for_it() {
    let store = Arc::new(Intercepted::state_store(MemoryStateStore::new()));
    let writes = store.on(Operation::UpsertState).hold();
    let builder = Persistence::builder().state_store("held", store.clone());
    let persistence = builder.open().await.unwrap();
    let note = persistence.start(|| Note::named("1")).unwrap();
    let written = note.send(Write('a'));
    writes.arrived(1).await;
    assert!(persistence.drained().now_or_never().is_none());

    let report = persistence.stop(Duration::ZERO).await;
    assert_eq!(report.busy_stores, ["state store 'held'"]);
    assert_eq!(report.unfinished.len(), 1);
    let answer = written.await.unwrap();
    assert!(
        matches!(answer, Err(PersistError::Unknown(_))),
        "{answer:?}"
    );

    // The call goes on all the same.
    writes.release(1);
    persistence.drained().await;
    let stored = store.get(&PersistenceId::of("Note", "1")).await.unwrap();
    assert_eq!(stored.revision, 1);
}
