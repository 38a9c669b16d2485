//! Versions that are made live while other things happen.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_projection::{MakeLiveError, Projections, StoredProjection};
use actix_persistence_storage_api::{OffsetStore, Operation, ProjectionChange};
use actix_persistence_testkit::{Intercepted, OffsetCall, OffsetStores};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::fixture::{LONG, key, until};

/// Two versions that have read nothing, the first of which is live.
struct TwoVersions {
    store: Arc<Intercepted<OffsetStores>>,
    old: StoredProjection,
    new: StoredProjection,
}

impl TwoVersions {
    async fn new() -> Self {
        let store = MemoryStorage::new().offset_store();
        let store = Arc::new(Intercepted::offset_store(store));
        let [old, new] = [1, 2].map(|version| key().with_version(version));
        for key in [&old, &new] {
            store.register(key, 2, "").await.unwrap();
        }
        let projections = Projections::new(Arc::clone(&store) as _, Handle::current(), ());
        Self {
            old: projections.projection(old),
            new: projections.projection(new),
            store,
        }
    }

    /// Returns whether the live version is this one, and whether it is paused.
    async fn state(&self, version: &StoredProjection) -> (bool, bool) {
        let record = version.record().await.unwrap().unwrap();
        (record.live, record.paused)
    }
}

/// Each process of an application may make its version live as it starts.
#[tokio::test]
async fn several_callers_that_make_one_version_live_all_succeed() {
    let versions = TwoVersions::new().await;
    let replaces = versions.store.on(Operation::ReplaceVersion).hold();
    let all_at_once = async {
        until(async || replaces.waiting() == 2).await;
        replaces.release_all();
    };
    let make = || versions.new.make_live(None, LONG);
    let (one, two, ()) = tokio::join!(make(), make(), all_at_once);
    one.unwrap();
    two.unwrap();
    assert_eq!(versions.state(&versions.new).await, (true, false));
    assert_eq!(versions.state(&versions.old).await, (false, true));
}

/// The version that was replaced is paused: made live again as it is, no version would go on.
#[tokio::test]
async fn a_version_that_is_paused_is_not_made_live() {
    let versions = TwoVersions::new().await;
    versions.new.make_live(None, LONG).await.unwrap();
    let refused = versions.old.make_live(None, LONG).await.unwrap_err();
    assert!(matches!(refused, MakeLiveError::Paused), "{refused:?}");
    assert_eq!(versions.state(&versions.new).await, (true, false));
    versions.old.resume().await.unwrap();
    versions.old.make_live(None, LONG).await.unwrap();
    assert_eq!(versions.state(&versions.old).await, (true, false));
}

#[tokio::test(start_paused = true)]
async fn a_version_that_lacks_events_of_the_live_one_is_not_made_live() {
    let versions = TwoVersions::new().await;
    let ahead = ProjectionChange::SetOffset("0/1.5.0.0:".to_owned());
    versions.store.change(&key(), ahead).await.unwrap();
    let late = versions.new.make_live(None, LONG).await.unwrap_err();
    assert!(matches!(late, MakeLiveError::Timeout { .. }), "{late:?}");
    assert_eq!(versions.state(&versions.old).await, (true, false));
}

/// A pause that is slow comes even if the time is over: it is waited for before the old version is resumed.
#[tokio::test(start_paused = true)]
async fn an_old_version_is_not_resumed_before_its_pause_has_come() {
    let versions = TwoVersions::new().await;
    let changes = |wanted: ProjectionChange| move |call: &OffsetCall| matches!(call, OffsetCall::Change { change, .. } if *change == wanted);
    let on_changes = || versions.store.on(Operation::ChangeProjection);
    let pauses = on_changes().matching(changes(ProjectionChange::Pause));
    let pauses = pauses.hold();
    let resumes = on_changes().matching(changes(ProjectionChange::Resume));
    let resumes = resumes.record();
    let later = async {
        sleep(LONG + Duration::from_secs(5)).await;
        assert_eq!((pauses.waiting(), resumes.calls().len()), (1, 0));
        pauses.release_all();
    };
    let (made, ()) = tokio::join!(versions.new.make_live(None, LONG), later);
    let late = made.unwrap_err();
    assert!(matches!(late, MakeLiveError::Timeout { .. }), "{late:?}");
    assert_eq!(versions.state(&versions.old).await, (true, false));
}
