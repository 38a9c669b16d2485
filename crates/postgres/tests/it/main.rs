//! What the plugin promises beyond the conformance kit.

mod database;
mod late_writes;
