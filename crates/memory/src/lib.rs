#![doc = include_str!("../README.md")]

mod journal;
mod offset_store;
mod snapshot_store;
mod state_store;

mod storage;

mod plugin;

pub use journal::MemoryJournal;
pub use offset_store::MemoryOffsetStore;
pub use plugin::MemoryPlugin;
pub use snapshot_store::MemorySnapshotStore;
pub use state_store::MemoryStateStore;
pub use storage::MemoryStorage;
