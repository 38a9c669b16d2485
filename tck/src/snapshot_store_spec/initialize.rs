//! Initialising, again and at the same time.

use actix_persistence_storage_api::SnapshotStore;

use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::parallel::{in_parallel, poll_and_drop};
use crate::snapshot_steps::{expect_snapshots, fresh_snapshot, save};
use crate::subject::Subject;
use crate::writer::text;

pub(super) const CASES: &[Case<dyn SnapshotStore>] = &[
    case!(change_nothing_when_initialized_again, ["S-INIT-1"]),
    case!(
        initialize_one_store_from_several_instances_at_once,
        ["S-INIT-2", "S-SAVE-1"]
    ),
    case!(initialize_after_a_dropped_initialize, ["S-INIT-1"]),
];

async fn change_nothing_when_initialized_again(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let snapshots = subject.five_snapshots().await?;
    subject.store().initialize().await?;
    let id = &snapshots[0].metadata.persistence_id;
    expect_snapshots(subject.store(), id, &snapshots).await?;
    let other = subject.another().await?;
    expect_snapshots(&*other, id, &snapshots).await
}

async fn initialize_one_store_from_several_instances_at_once(
    subject: Subject<dyn SnapshotStore>,
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
    for saving in &stores {
        let snapshot = fresh_snapshot(1, text("s-1"));
        save(&**saving, &snapshot).await?;
        for loading in &stores {
            let id = &snapshot.metadata.persistence_id;
            expect_snapshots(&**loading, id, [&snapshot]).await?;
        }
    }
    Ok(())
}

async fn initialize_after_a_dropped_initialize(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let snapshots = subject.five_snapshots().await?;
    let id = &snapshots[0].metadata.persistence_id;
    for polls in [0, 1, 2, 3, 5, 8, 20, 200] {
        let store = subject.another_uninitialised().await?;
        poll_and_drop(store.initialize(), polls).await;
        store.initialize().await?;
        expect_snapshots(&*store, id, &snapshots).await?;
    }
    Ok(())
}
