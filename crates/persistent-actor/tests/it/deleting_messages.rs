//! The rules of `delete_messages`.

use std::sync::Arc;

use actix::Addr;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{Journal, SequenceNr};

use crate::faulty_stores::{Fate, FaultyStores};
use crate::retaining_world::left;
use crate::tally::{Add, Get, Log, Run, Tally};
use crate::world::{World, run};

struct Deleting {
    world: World,
    stores: Arc<FaultyStores>,
    tally: Addr<Tally>,
    log: Log,
}

/// An actor with three events, on stores that write down what they are asked.
async fn with_three_events(fates: &[Fate]) -> Deleting {
    let storage = MemoryStorage::new();
    let stores = FaultyStores::new(&storage, 0, fates);
    let world = World::tuned(
        storage,
        stores.journal(),
        stores.snapshot_store(),
        |_, _| {},
        |_| {},
    );
    let log = Log::default();
    let tally = world.start(Tally::factory("1", &log)).unwrap();
    for n in [1, 2, 3] {
        tally.send(Add(n)).await.unwrap().unwrap();
    }
    Deleting {
        world,
        stores,
        tally,
        log,
    }
}

impl Deleting {
    /// Deletes up to this number, and gives the name of the answer.
    async fn delete(&self, to: SequenceNr) -> String {
        self.log.take();
        let command = Run::new(move |_, ctx| ctx.delete_messages(to));
        self.tally.send(command).await.unwrap();
        loop {
            if let Some(answer) = self.log.take().pop() {
                return answer;
            }
            self.tally.send(Get).await.unwrap();
            tokio::task::yield_now().await;
        }
    }

    async fn highest(&self) -> SequenceNr {
        let id = Tally::new("1", &self.log).id;
        let journal = self.world.storage.journal();
        journal.read_highest_sequence_nr(&id).await.unwrap()
    }
}

#[test]
fn events_are_deleted_up_to_the_bound_inclusive() {
    run(|| async {
        let deleting = with_three_events(&[]).await;
        assert_eq!(deleting.delete(2).await, "DeleteMessagesSuccess");
        assert_eq!(left(&deleting.world.storage).await.0, [3]);
    });
}

#[test]
fn the_greatest_bound_means_the_last_event_of_the_actor() {
    run(|| async {
        let deleting = with_three_events(&[]).await;
        assert_eq!(
            deleting.delete(SequenceNr::MAX).await,
            "DeleteMessagesSuccess"
        );
        assert_eq!(deleting.stores.calls(), ["delete events to 3"]);
    });
}

#[test]
fn a_bound_above_the_last_event_is_refused_without_asking_the_journal() {
    run(|| async {
        let deleting = with_three_events(&[]).await;
        assert_eq!(deleting.delete(4).await, "DeleteMessagesFailure");
        assert_eq!(deleting.stores.calls(), [""; 0]);
        assert_eq!(left(&deleting.world.storage).await.0, [1, 2, 3]);
    });
}

#[test]
fn deleting_never_lowers_the_highest_number() {
    run(|| async {
        let deleting = with_three_events(&[]).await;
        deleting.delete(SequenceNr::MAX).await;
        assert_eq!(deleting.highest().await, 3);
        deleting.tally.send(Add(4)).await.unwrap().unwrap();
        assert_eq!(deleting.highest().await, 4);
        assert_eq!(left(&deleting.world.storage).await.0, [4]);
    });
}

#[test]
fn what_the_journal_does_not_delete_is_told_to_the_actor() {
    run(|| async {
        let deleting = with_three_events(&[Fate::Fails]).await;
        assert_eq!(deleting.delete(2).await, "DeleteMessagesFailure");
        assert_eq!(left(&deleting.world.storage).await.0, [1, 2, 3]);
    });
}

#[test]
fn commands_are_not_held_back_while_events_are_deleted() {
    run(|| async {
        // The journal never answers.
        let deleting = with_three_events(&[Fate::DiesBefore]).await;
        let delete = Run::new(|_, ctx| ctx.delete_messages(2));
        deleting.tally.send(delete).await.unwrap();
        deleting.stores.died().await;
        assert_eq!(deleting.tally.send(Get).await.unwrap(), 6);
        let told = deleting.log.take();
        assert!(!told.iter().any(|entry| entry.starts_with("Delete")));
    });
}
