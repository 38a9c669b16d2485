//! The traits that an application implements: its actors, their events and their states.

mod durable_state;
mod event;
mod persistent_actor;
mod state;
pub(crate) mod stored_as;

#[cfg(test)]
pub(crate) mod bare;

pub use durable_state::DurableState;
pub use event::{Event, EventMeta};
pub use persistent_actor::PersistentActor;
pub use state::State;
