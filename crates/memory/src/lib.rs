#![doc = include_str!("../README.md")]

mod journal;
mod snapshot_store;
mod state_store;

mod storage;

mod plugin;

pub use journal::MemoryJournal;
pub use plugin::MemoryPlugin;
pub use snapshot_store::MemorySnapshotStore;
pub use state_store::MemoryStateStore;
pub use storage::MemoryStorage;
