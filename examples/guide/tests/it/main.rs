//! The programs of the guide, run as a reader would.
#![allow(clippy::unwrap_used)]

mod cleaning_up;
#[path = "../../../blog-post/tests/it/own_database.rs"]
mod own_database;
mod personal_data;
mod program;
mod published_events;
mod schema_evolution;
mod short_programs;
mod snapshots;
mod stopping;
mod testing;
mod testing_projections;
mod with_actix_web;
