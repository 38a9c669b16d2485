#![doc = include_str!("../README.md")]

mod state_handle;
mod state_settings;
mod state_store_proxy;
mod stored;

pub use actix_persistence_store_actor::Observed;
pub use state_handle::StateHandle;
pub use state_settings::StateSettings;
pub use state_store_proxy::StateStoreProxy;
