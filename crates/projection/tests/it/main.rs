//! Projections of events in memory, whose offset store can be told to fail.
#![allow(clippy::unwrap_used)]

mod fixture;

mod attempts;
mod leases;
mod managing;
mod pieces;
mod removing;
mod stopping;
