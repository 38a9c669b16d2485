//! The state actor before a scripted store, on a paused clock.
//!
//! The tests of the snapshot actor cover the queue by id that both have; these cover what states add to it.

#![allow(clippy::unwrap_used)]

mod fixture;
mod groups;
mod scripted_store;

mod breakers;
mod initializing;
mod lanes;
mod late_writes;
mod order;
mod permits;
mod proxy;
mod replies;
