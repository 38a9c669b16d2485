#![doc = include_str!("../README.md")]

mod commands;
mod journal;
mod snapshot_store;
mod state_store;

mod plugin;

mod file_options;

mod directory;
mod index;
mod log;
mod scan;
mod snapshot_folder;
mod write_batch;

mod encoding;
mod frame;
mod record;
mod snapshot_file;
mod state_file;

mod blocking;
mod durable_fs;
mod failure;

pub use commands::LogSize;
pub use file_options::{FileOptions, SyncMode};
pub use journal::FileJournal;
pub use plugin::FilePlugin;
pub use snapshot_store::FileSnapshotStore;
pub use state_store::FileStateStore;
