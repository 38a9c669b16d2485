//! One process after the other with an actor that retains, on one storage.

use std::sync::Arc;

use actix::Addr;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{Journal, PageLimit, ReplayRange, SequenceNr};

use crate::faulty_stores::{Fate, FaultyStores, stored_snapshots};
use crate::tally::{Get, Log, Retaining, Tally};
use crate::world::World;

/// A process, and the actor in it.
pub(crate) struct Process {
    pub(crate) stores: Arc<FaultyStores>,
    pub(crate) tally: Addr<Tally>,
    pub(crate) log: Log,
    world: World,
}

impl Process {
    pub(crate) fn start(storage: &MemoryStorage, retaining: Retaining, fates: &[Fate]) -> Self {
        Self::start_tally(storage, retaining.keep, fates, move |log| Tally {
            retaining: Some(retaining),
            ..Tally::new("1", log)
        })
    }

    /// Whatever is deleted has to be covered by this many snapshots.
    pub(crate) fn start_tally(
        storage: &MemoryStorage,
        cover: usize,
        fates: &[Fate],
        make: impl Fn(&Log) -> Tally + Unpin + 'static,
    ) -> Self {
        let stores = FaultyStores::new(storage, cover, fates);
        let world = World::tuned(
            storage.clone(),
            stores.journal(),
            stores.snapshot_store(),
            |_, _| {},
            |_| {},
        );
        let log = Log::default();
        let shared = log.clone();
        let tally = world.start(move || make(&shared)).unwrap();
        Self {
            stores,
            tally,
            log,
            world,
        }
    }

    /// Waits until the actor has nothing left to ask of the stores; returns whether the process has survived.
    pub(crate) async fn settle(&self) -> bool {
        tokio::select! {
            () = self.stores.died() => false,
            () = self.settled() => true,
        }
    }

    /// Lets go of the actor, waits for its end, and gives what happened to it.
    pub(crate) async fn end(self) -> Vec<String> {
        drop(self.tally);
        while !self.world.environment.live_ids.is_empty() {
            tokio::task::yield_now().await;
        }
        self.log.take()
    }

    async fn settled(&self) {
        loop {
            let calls = self.stores.calls().len();
            let environment = &self.world.environment;
            environment.stores.journal().unwrap().drained().await;
            if let Some(snapshots) = environment.stores.snapshot_store() {
                snapshots.drained().await;
            }
            // The actor takes note of what the stores answered before it takes the next command.
            self.tally.send(Get).await.unwrap();
            if self.stores.calls().len() == calls {
                return;
            }
        }
    }
}

/// The numbers of the events that are left, and of the snapshots, the oldest first.
pub(crate) async fn left(storage: &MemoryStorage) -> (Vec<SequenceNr>, Vec<SequenceNr>) {
    let id = Tally::new("1", &Log::default()).id;
    let mut events = Vec::new();
    loop {
        let next = events.last().map_or(1, |last| last + 1);
        let range = ReplayRange::new(next, SequenceNr::MAX);
        let page = storage
            .journal()
            .replay_messages(&id, range, PageLimit::DEFAULT)
            .await
            .unwrap();
        if page.events.is_empty() {
            break;
        }
        events.extend(page.events.iter().map(|event| event.sequence_nr));
    }
    let mut snapshots = stored_snapshots(&storage.snapshot_store(), &id).await;
    snapshots.reverse();
    (events, snapshots)
}
