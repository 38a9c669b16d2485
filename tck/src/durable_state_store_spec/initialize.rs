//! Initialising, again and at the same time.

use actix_persistence_storage_api::{StateDelete, StateStore};

use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::parallel::{in_parallel, poll_and_drop};
use crate::state_steps::{expect_nothing, expect_state, state, store_up_to};
use crate::subject::Subject;
use crate::writer::fresh_id;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(change_nothing_when_initialized_again, ["D-INIT-1"]),
    case!(
        initialize_one_store_from_several_instances_at_once,
        ["D-INIT-2", "D-UPSERT-3"]
    ),
    case!(initialize_after_a_dropped_initialize, ["D-INIT-1"]),
];

async fn change_nothing_when_initialized_again(subject: Subject<dyn StateStore>) -> CaseResult {
    let (live, deleted) = (fresh_id(), fresh_id());
    let store = subject.store();
    store_up_to(store, &live, 2).await?;
    store.delete(StateDelete::new(deleted.clone(), 1)).await?;
    store.initialize().await?;
    let other = subject.another().await?;
    for store in [store, &*other] {
        expect_state(store, &state(&live, 2)).await?;
        expect_nothing(store, &deleted, 1).await?;
    }
    Ok(())
}

async fn initialize_one_store_from_several_instances_at_once(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let mut stores = vec![subject.share()];
    for _ in 0..4 {
        stores.push(subject.another_uninitialised().await?);
    }
    let initialisations = stores.clone().into_iter().map(|store| async move {
        store.initialize().await?;
        Ok(())
    });
    in_parallel(initialisations).await?;
    for writing in &stores {
        let id = fresh_id();
        store_up_to(&**writing, &id, 1).await?;
        for reading in &stores {
            expect_state(&**reading, &state(&id, 1)).await?;
        }
    }
    Ok(())
}

async fn initialize_after_a_dropped_initialize(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    store_up_to(subject.store(), &id, 3).await?;
    for polls in [0, 1, 2, 3, 5, 8, 20, 200] {
        let store = subject.another_uninitialised().await?;
        poll_and_drop(store.initialize(), polls).await;
        store.initialize().await?;
        expect_state(&*store, &state(&id, 3)).await?;
    }
    Ok(())
}
