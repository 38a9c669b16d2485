//! The guarantees of an actor whose current state is stored, on the memory plugin behind the real store actor.

mod blocked_threads;
mod deleting;
mod failures;
pub(crate) mod memo;
mod model;
mod persisting;
mod recovery;
mod schema_evolution;
mod scripted_states;
pub(crate) mod state_world;
mod turns;
