//! The snapshot actor before a scripted store, on a paused clock.

#![allow(clippy::unwrap_used)]

mod fixture;
mod scripted_store;

mod breakers;
mod failed_saves;
mod initializing;
mod order;
mod pace;
mod proxy;
mod replies;
