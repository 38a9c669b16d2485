//! The data that stays in memory while stores come and go.

use std::fmt;
use std::sync::Arc;

use crate::journal::Streams;
use crate::offset_store::Projections;
use crate::snapshot_store::Snapshots;
use crate::state_store::States;
use crate::{MemoryJournal, MemoryOffsetStore, MemorySnapshotStore, MemoryStateStore};

/// The data of any number of journals, snapshot stores, state stores and offset stores; clones are the same storage.
///
/// Making a store from it stands for opening a database: what earlier stores wrote is there.
/// The data is gone when the storage and the last store made from it are dropped.
#[derive(Clone, Default)]
pub struct MemoryStorage {
    streams: Arc<Streams>,
    snapshots: Arc<Snapshots>,
    states: Arc<States>,
    projections: Arc<Projections>,
}

impl MemoryStorage {
    /// Makes an empty storage.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a journal on this storage.
    pub fn journal(&self) -> MemoryJournal {
        MemoryJournal::on(Arc::clone(&self.streams))
    }

    /// Returns a snapshot store on this storage.
    pub fn snapshot_store(&self) -> MemorySnapshotStore {
        MemorySnapshotStore::on(Arc::clone(&self.snapshots))
    }

    /// Returns a state store on this storage.
    pub fn state_store(&self) -> MemoryStateStore {
        MemoryStateStore::on(Arc::clone(&self.states))
    }

    /// Returns an offset store on this storage.
    pub fn offset_store(&self) -> MemoryOffsetStore {
        MemoryOffsetStore::on(Arc::clone(&self.projections))
    }
}

/// Shows no data: events, snapshots and states do not belong in logs.
impl fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStorage").finish_non_exhaustive()
    }
}
