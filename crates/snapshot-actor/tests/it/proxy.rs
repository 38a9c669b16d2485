//! The actor as a snapshot store.

use std::sync::Arc;

use actix_persistence_snapshot_actor::SnapshotStoreProxy;
use actix_persistence_storage_api::{
    Operation, Payload, SnapshotCriteria, SnapshotStore, StorageErrorKind,
};

use crate::fixture::{Fixture, error, id, metadata, on_paused_clock, settings};
use crate::scripted_store::{Call, ScriptedStore};

#[test]
fn every_method_reaches_the_store() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let proxy = SnapshotStoreProxy::new(fixture.handle.clone());
        let serve = async {
            for call in [
                Call::Save(metadata("a", 1)),
                Call::Load(id("a")),
                Call::Delete(metadata("a", 1)),
                Call::DeleteMatching(id("a")),
            ] {
                fixture.calls.expect(call).await.works();
            }
            let called = fixture.calls.expect(Call::Load(id("a"))).await;
            called.fails(error(StorageErrorKind::Corrupt, Operation::LoadSnapshot));
        };
        let ask = async {
            let latest = SnapshotCriteria::LATEST;
            proxy.initialize().await.unwrap();
            let payload = Payload::new(0, "", "state");
            proxy.save(metadata("a", 1), payload).await.unwrap();
            assert!(proxy.load(&id("a"), latest).await.unwrap().is_none());
            proxy.delete(&metadata("a", 1)).await.unwrap();
            proxy.delete_matching(&id("a"), latest).await.unwrap();
            let failure = proxy.load(&id("a"), latest).await.unwrap_err();
            assert_eq!(failure.kind(), StorageErrorKind::Corrupt);
        };
        tokio::join!(serve, ask);
    });
}

#[tokio::test]
async fn can_be_spawned_without_a_system() {
    let (store, mut calls) = ScriptedStore::new();
    let proxy = SnapshotStoreProxy::spawn(Arc::new(store), settings()).unwrap();
    calls.next().await.works();
    proxy.initialize().await.unwrap();
    let load = tokio::spawn(async move { proxy.load(&id("a"), SnapshotCriteria::LATEST).await });
    calls.next().await.works();
    assert!(load.await.unwrap().unwrap().is_none());
}
