//! The stores of an application: their kinds, those that are open, and the environments that actors get of them.

mod environments;
pub(crate) mod made_stores;
pub(crate) mod opened_store;
pub(crate) mod store_entries;
pub(crate) mod store_kind;
pub(crate) mod store_runtime;
mod store_schema;
mod stores_of_kind;
mod weaker_snapshots;

pub use store_schema::StoreSchema;
