//! Snapshots of an actor, and the retention that takes them and deletes what they replace.

mod load_snapshot;
mod retention;
pub(crate) mod retention_rounds;
pub(crate) mod retention_steps;
pub(crate) mod snapshot;

pub use load_snapshot::{LoadSnapshotError, LoadedSnapshot};
pub use retention::Retention;
pub use snapshot::{NoSnapshot, Snapshot, SnapshotOffer};
