//! Versions that are made live while other things happen.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_projection::{MakeLiveError, Projections, StoredProjection};
use actix_persistence_sqlite::{SqliteOffsetStore, SqliteOptions};
use actix_persistence_storage_api::{
    OffsetStore, Operation, ProjectionChange, SessionWork, StorageError, StorageErrorKind,
};
use actix_persistence_testkit::{
    Fault, Hook, Intercepted, Next, OffsetAnswer, OffsetCall, OffsetStores,
};
use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
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
        Self::in_store(MemoryStorage::new().offset_store()).await
    }

    async fn in_store(store: impl OffsetStore) -> Self {
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

/// A halt is ended by a person, who has seen its reason.
#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_made_live_ends_no_halt_of_the_old_one() {
    let versions = TwoVersions::new().await;
    let halted = versions.store.take_share(&key(), 0, "a", LONG).await;
    let reason = "no such account";
    versions
        .store
        .halt(&halted.unwrap().claim, reason)
        .await
        .unwrap();
    // A process that does not release its share.
    let held = versions.store.take_share(&key(), 1, "a", LONG * 10).await;
    held.unwrap();
    let late = versions.new.make_live(None, LONG).await.unwrap_err();
    assert!(matches!(late, MakeLiveError::Timeout { .. }), "{late:?}");
    assert_eq!(versions.state(&versions.old).await, (true, false));
    let record = versions.old.record().await.unwrap().unwrap();
    assert_eq!(record.shares[0].halted.as_deref(), Some(reason));
}

/// Loses the reply to a replacement, whose transaction goes on until something else is to be changed.
struct LosesReply {
    begun: Arc<Semaphore>,
    goes_on: Arc<Semaphore>,
}

#[async_trait]
impl Hook<OffsetStores> for LosesReply {
    async fn call(
        &self,
        call: OffsetCall,
        next: Next<OffsetStores>,
    ) -> Result<OffsetAnswer, StorageError> {
        match &call {
            OffsetCall::Replace { .. } => {
                let lost = Fault::new(StorageErrorKind::Timeout).with_unknown_effect();
                let lost = lost.of(&call);
                tokio::spawn(next.run(call));
                self.begun.acquire().await.unwrap().forget();
                Err(lost)
            }
            OffsetCall::Change { change, .. } if *change != ProjectionChange::Pause => {
                self.goes_on.add_permits(1);
                next.run(call).await
            }
            _ => next.run(call).await,
        }
    }
}

/// The old version was resumed beside the new one, which was live, and the call had failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replacement_that_commits_after_its_reply_is_lost_has_succeeded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("read.db");
    let store = SqliteOffsetStore::new(SqliteOptions::new(file.to_string_lossy())).unwrap();
    store.initialize().await.unwrap();
    let versions = TwoVersions::in_store(store).await;
    let [begun, goes_on] = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
    for operation in [Operation::ReplaceVersion, Operation::ChangeProjection] {
        let (begun, goes_on) = (Arc::clone(&begun), Arc::clone(&goes_on));
        versions
            .store
            .on(operation)
            .hook(LosesReply { begun, goes_on });
    }
    let work = SessionWork::new(move |_| {
        Box::pin(async move {
            begun.add_permits(1);
            goes_on.acquire().await?.forget();
            Ok(())
        })
    });
    versions.new.make_live(Some(work), LONG).await.unwrap();
    assert_eq!(versions.state(&versions.new).await, (true, false));
    assert_eq!(versions.state(&versions.old).await, (false, true));
}
