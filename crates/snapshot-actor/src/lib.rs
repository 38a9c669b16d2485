#![doc = include_str!("../README.md")]

mod snapshot_handle;
mod snapshot_settings;
mod snapshot_store_proxy;

pub use snapshot_handle::SnapshotHandle;
pub use snapshot_settings::SnapshotSettings;
pub use snapshot_store_proxy::SnapshotStoreProxy;
