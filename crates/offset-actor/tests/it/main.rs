//! The offset actor before a scripted store, on a paused clock.

#![allow(clippy::unwrap_used)]

mod fixture;

mod breakers;
mod initializing;
mod order;
mod proxy;
mod replies;
