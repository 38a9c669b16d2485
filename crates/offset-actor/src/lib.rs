#![doc = include_str!("../README.md")]

mod offset_handle;
mod offset_settings;
mod offset_store_proxy;
mod queues;

pub use offset_handle::OffsetHandle;
pub use offset_settings::OffsetSettings;
pub use offset_store_proxy::OffsetStoreProxy;
