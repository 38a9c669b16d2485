//! What the plugin promises beyond the conformance kit.
#![allow(clippy::unwrap_used)]

mod database;
mod late_writes;
