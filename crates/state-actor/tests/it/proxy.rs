//! The actor as a state store.

use std::sync::Arc;

use actix_persistence_state_actor::StateStoreProxy;
use actix_persistence_storage_api::{
    ChangeEvent, Operation, Payload, RevisionConflict, StateCapabilities, StateDelete, StateStore,
    StorageError, WriterId,
};

use crate::fixture::{Fixture, id, on_paused_clock, settings, update};
use crate::scripted_store::ScriptedStore;

#[test]
fn every_method_reaches_the_store() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let proxy = StateStoreProxy::new(fixture.handle.clone());
        let conflict = RevisionConflict {
            expected: 6,
            found: 9,
        };
        let calls = &mut fixture.calls;
        let serve = async {
            calls.expect(Operation::UpsertState, "a", 1).await.works();
            calls.expect(Operation::GetState, "a", 0).await.gives(1);
            calls.expect(Operation::DeleteState, "a", 2).await.works();
            calls.expect(Operation::DeleteState, "a", 3).await.works();
            let call = calls.expect(Operation::HardDeleteState, "a", 0).await;
            call.gives(1);
            let call = calls.expect(Operation::DeleteState, "a", 7).await;
            let error =
                StorageError::from_revision_conflict(Operation::DeleteState, id("a"), conflict);
            call.fails(error);
        };
        let ask = async {
            proxy.initialize().await.unwrap();
            proxy.upsert(update("a", 1)).await.unwrap();
            assert_eq!(proxy.get(&id("a")).await.unwrap().revision, 1);
            proxy.delete(StateDelete::new(id("a"), 2)).await.unwrap();
            let event = ChangeEvent::new(Payload::new(0, "", "event"), WriterId::NIL);
            let delete = StateDelete::new(id("a"), 3).with_change_event(event);
            proxy.delete(delete).await.unwrap();
            assert!(proxy.hard_delete(&id("a")).await.unwrap());
            let error = proxy
                .delete(StateDelete::new(id("a"), 7))
                .await
                .unwrap_err();
            assert_eq!(error.revision_conflict(), Some(&conflict));
        };
        tokio::join!(serve, ask);
        let capabilities = StateCapabilities::default().with_tags();
        assert_eq!(proxy.capabilities(), capabilities);
    });
}

#[tokio::test]
async fn can_be_spawned_without_a_system() {
    let (store, mut calls) = ScriptedStore::new();
    let proxy = StateStoreProxy::spawn(Arc::new(store), settings()).unwrap();
    calls.next().await.works();
    proxy.initialize().await.unwrap();
    let read = tokio::spawn(async move { proxy.get(&id("a")).await });
    calls.next().await.gives(3);
    assert_eq!(read.await.unwrap().unwrap().revision, 3);
}
