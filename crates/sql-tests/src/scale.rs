//! The length of tests that run for a time: short, unless `ACTIX_PERSISTENCE_TEST_SCALE=full` as `cargo xtask soak` sets it.

use std::time::Duration;

/// Returns the time for which a test runs.
pub(crate) fn scaled(short: Duration, full: Duration) -> Duration {
    match std::env::var("ACTIX_PERSISTENCE_TEST_SCALE").as_deref() {
        Ok("full") => full,
        Ok(other) => panic!("the scale can be 'full' or absent, not '{other}'"),
        Err(_) => short,
    }
}
