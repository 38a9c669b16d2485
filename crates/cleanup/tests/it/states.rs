//! Deleting states: the same on every database.

use actix_persistence_cleanup::{Numbers, Task};
use actix_persistence_storage_api::{CurrentState, StateDelete};

use crate::world::{World, fresh_id};

pub(crate) async fn a_state_is_deleted_once_and_its_revision_kept(world: &World) {
    let id = fresh_id();
    world.state(&id, 1).await;
    world.state(&id, 2).await;
    let task = Task::DeleteState(Numbers::Keep);
    let preview = world.cleanup.preview(task, &id).await.unwrap();
    assert_eq!((preview.state, preview.reset_from), (Some(2), None));
    for _ in 0..3 {
        world.cleanup.run(task, &id).await.unwrap();
        let current = world.state_store.get(id.clone()).await.unwrap();
        assert_eq!(current, CurrentState::tombstone(3));
    }
    assert!(world.cleanup.preview(task, &id).await.unwrap().is_empty());
    world.state(&id, 4).await;
}

pub(crate) async fn a_state_is_removed_and_its_revisions_start_again(world: &World) {
    let (state, tombstone) = (fresh_id(), fresh_id());
    world.state(&state, 1).await;
    world.state(&tombstone, 1).await;
    world
        .state_store
        .delete(StateDelete::new(tombstone.clone(), 2))
        .await
        .unwrap();
    for id in [state, tombstone] {
        for _ in 0..2 {
            let reset = world.cleanup.delete_state(&id, Numbers::Reset);
            reset.await.unwrap();
            let current = world.state_store.get(id.clone()).await.unwrap();
            assert_eq!(current, CurrentState::NEVER_SEEN);
        }
        world.state(&id, 1).await;
    }
}
