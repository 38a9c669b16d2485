//! The blog, run as its users would, on every database.
#![allow(clippy::unwrap_used)]

mod commands;
mod live;
mod own_database;
mod place;
mod posts;
mod searching;
mod watching;
