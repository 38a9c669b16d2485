//! The end of all live actors of a store, and the work that they leave undone.

pub(crate) mod drain;
pub(crate) mod drain_signal;
pub(crate) mod gone;
mod unfinished_actor;

pub use drain::Drain;
pub use unfinished_actor::{UnfinishedActor, UnfinishedWork};
