//! A persist call from its making until its handlers have run: its contents, its place in the queue, its write.

pub(crate) mod attached;
pub(crate) mod beside;
pub(crate) mod encoded;
pub(crate) mod in_flight;
pub(crate) mod pending;
mod persist;
mod persist_future;
pub(crate) mod persisted_events;
pub(crate) mod write_deadline;

pub use persist::{ManyEvents, NoEvent, OneEvent, Persist};
pub use persist_future::PersistFuture;
