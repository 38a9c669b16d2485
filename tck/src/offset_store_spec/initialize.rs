//! Initialising, again and at the same time.

use actix_persistence_storage_api::{OffsetStore, ProjectionChange};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::offset_steps::{HELD, go_on, registered, still, take};
use crate::parallel::in_parallel;
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(change_nothing_when_initialized_again, ["O-INIT-1"]),
    case!(
        initialize_one_store_from_several_instances_at_once,
        ["O-INIT-1"]
    ),
];

async fn change_nothing_when_initialized_again(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 3).await?;
    let first = take(store, &key, 0, "a").await?;
    go_on(store, &first, "1").await?;
    let second = take(store, &key, 1, "a").await?;
    store.count_attempt(&second.claim).await?;
    store.halt(&second.claim, "no way").await?;
    store.attend(&key, "a", HELD).await?;
    store.change(&key, ProjectionChange::Pause).await?;
    let before = still(store, &key).await?;
    store.initialize().await?;
    let other = subject.another().await?;
    for store in [store, &*other] {
        expect_eq("projection", still(store, &key).await?, before.clone())?;
    }
    Ok(())
}

async fn initialize_one_store_from_several_instances_at_once(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let key = registered(subject.store(), 2).await?;
    let before = still(subject.store(), &key).await?;
    let mut stores = vec![subject.share()];
    for _ in 0..4 {
        stores.push(subject.another_uninitialised().await?);
    }
    let initialisations = stores.clone().into_iter().map(|store| async move {
        store.initialize().await?;
        Ok(())
    });
    in_parallel(initialisations).await?;
    for store in &stores {
        expect_eq("projection", still(&**store, &key).await?, before.clone())?;
    }
    Ok(())
}
