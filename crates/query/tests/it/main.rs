//! Streams over stores in memory that can be told to fail.
#![allow(clippy::unwrap_used)]

mod changes;
mod events;
mod fixture;
mod ids;
mod live;
mod trouble;
