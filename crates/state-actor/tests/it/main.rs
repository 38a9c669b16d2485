//! The state actor before a scripted store, on a paused clock.
//!
//! What every actor with a queue by id does is tested with the snapshot actor; here is what states add to it.

#![allow(clippy::unwrap_used)]

mod fixture;
mod groups;
mod scripted_store;

mod breakers;
mod initializing;
mod late_writes;
mod order;
mod permits;
mod proxy;
mod replies;
