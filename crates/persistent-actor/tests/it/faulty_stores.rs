//! A journal and a snapshot store whose process may die in the middle, on a storage that survives it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::{MemorySnapshotStore, MemoryStorage};
use actix_persistence_storage_api::{
    Journal, PersistenceId, SequenceNr, SnapshotCriteria, SnapshotStore, StorageError,
    StorageErrorKind,
};
use actix_persistence_testkit::{
    Hook, Intercepted, JournalAnswer, JournalCall, Journals, Next, SnapshotAnswer, SnapshotCall,
    SnapshotStores, StoreKind, Verdict,
};
use async_trait::async_trait;
use tokio::sync::watch;

/// The fate of a save, a delete, or the loading of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Works,
    /// Nothing happened, and the caller is told so.
    Fails,
    /// It happened, and the caller is told that this is unknown.
    FailsUnknown,
    /// The process dies before it.
    DiesBefore,
    /// The process dies after it, before anybody hears of it.
    DiesAfter,
}

/// The stores of one process.
pub(crate) struct FaultyStores {
    storage: MemoryStorage,
    fates: Mutex<VecDeque<Fate>>,
    calls: Mutex<Vec<String>>,
    dead: watch::Sender<bool>,
    /// The number of snapshots that have to cover whatever is deleted.
    cover: usize,
    /// Deletes that were not covered; a panic in a store would only be one more failure.
    uncovered: Mutex<Vec<String>>,
}

impl FaultyStores {
    /// The fates are those of saves, deletes and loads in the order of the calls; further ones work.
    pub(crate) fn new(storage: &MemoryStorage, cover: usize, fates: &[Fate]) -> Arc<Self> {
        Arc::new(Self {
            storage: storage.clone(),
            fates: Mutex::new(fates.iter().copied().collect()),
            calls: Mutex::default(),
            dead: watch::Sender::new(false),
            cover,
            uncovered: Mutex::default(),
        })
    }

    pub(crate) fn journal(self: &Arc<Self>) -> Arc<dyn Journal> {
        let journal = self.storage.journal();
        Arc::new(Intercepted::journal_with(journal, Arc::clone(self)))
    }

    pub(crate) fn snapshot_store(self: &Arc<Self>) -> Arc<dyn SnapshotStore> {
        let store = self.storage.snapshot_store();
        Arc::new(Intercepted::snapshot_store_with(store, Arc::clone(self)))
    }

    /// The saves, deletes and loads so far.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    /// Panics if something was deleted that not enough snapshots covered.
    pub(crate) fn assert_covered(&self) {
        assert_eq!(*self.uncovered.lock().unwrap(), [""; 0]);
    }

    /// Waits until the process has died.
    pub(crate) async fn died(&self) {
        self.dead.subscribe().wait_for(|dead| *dead).await.unwrap();
    }

    /// A dead process does nothing any more, and is not heard of.
    async fn alive(&self) {
        if *self.dead.borrow() {
            std::future::pending::<()>().await;
        }
    }

    async fn die(&self) {
        self.dead.send_replace(true);
        self.alive().await;
    }

    /// Takes the fate of a call.
    async fn fated<S: StoreKind>(
        &self,
        name: String,
        call: S::Call,
        next: Next<S>,
    ) -> Result<S::Answer, StorageError> {
        self.calls.lock().unwrap().push(name);
        let fate = self.fates.lock().unwrap().pop_front();
        let backend = StorageErrorKind::Backend;
        let verdict = match fate.unwrap_or(Fate::Works) {
            Fate::Works | Fate::DiesAfter => Verdict::Pass,
            Fate::Fails => Verdict::fail(backend),
            Fate::FailsUnknown => Verdict::store_but_fail(backend),
            Fate::DiesBefore => {
                self.die().await;
                Verdict::Hang
            }
        };
        let answer = verdict.carry_out::<S>(call, next).await;
        if fate == Some(Fate::DiesAfter) && answer.is_ok() {
            self.die().await;
        }
        answer
    }

    async fn check_covered(&self, id: &PersistenceId, deleted_to: SequenceNr) {
        let stored = stored_snapshots(&self.storage.snapshot_store(), id).await;
        if stored.iter().filter(|nr| **nr >= deleted_to).count() < self.cover {
            let uncovered = format!("{stored:?} do not cover {deleted_to}");
            self.uncovered.lock().unwrap().push(uncovered);
        }
    }
}

/// The numbers of all snapshots, the youngest first.
pub(crate) async fn stored_snapshots(
    store: &MemorySnapshotStore,
    id: &PersistenceId,
) -> Vec<SequenceNr> {
    let (mut stored, mut criteria) = (Vec::new(), SnapshotCriteria::LATEST);
    while let Some(record) = store.load(id, criteria).await.unwrap() {
        let sequence_nr = record.metadata.sequence_nr;
        stored.push(sequence_nr);
        criteria = SnapshotCriteria::up_to(sequence_nr - 1);
    }
    stored
}

#[async_trait]
impl Hook<SnapshotStores> for FaultyStores {
    async fn call(
        &self,
        call: SnapshotCall,
        next: Next<SnapshotStores>,
    ) -> Result<SnapshotAnswer, StorageError> {
        self.alive().await;
        let name = match &call {
            SnapshotCall::Load { criteria, .. } if *criteria != SnapshotCriteria::LATEST => {
                format!("find to {}", criteria.max_sequence_nr)
            }
            SnapshotCall::Save { metadata, .. } => format!("save {}", metadata.sequence_nr),
            SnapshotCall::DeleteMatching {
                persistence_id,
                criteria,
            } => {
                let up_to = criteria.max_sequence_nr;
                let first_kept = up_to.saturating_add(1);
                self.check_covered(persistence_id, first_kept).await;
                format!("delete snapshots to {up_to}")
            }
            _ => return next.run(call).await,
        };
        self.fated(name, call, next).await
    }
}

#[async_trait]
impl Hook<Journals> for FaultyStores {
    async fn call(
        &self,
        call: JournalCall,
        next: Next<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        self.alive().await;
        let JournalCall::DeleteMessagesTo {
            persistence_id,
            deletion,
        } = &call
        else {
            return next.run(call).await;
        };
        self.check_covered(persistence_id, deletion.to).await;
        let name = format!("delete events to {}", deletion.to);
        self.fated(name, call, next).await
    }
}
