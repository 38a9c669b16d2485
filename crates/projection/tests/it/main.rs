//! Projections of events in memory, whose offset store can be told to fail.
#![allow(clippy::unwrap_used)]

mod fixture;

mod applied;
mod attempts;
mod divisions;
mod leases;
mod live;
mod managing;
mod parking;
mod parking_model;
mod pieces;
mod reading_on;
mod removing;
mod stopping;
mod store_in_trouble;
