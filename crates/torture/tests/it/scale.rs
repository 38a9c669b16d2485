//! The length of the tests: some seconds, unless `ACTIX_PERSISTENCE_TEST_SCALE=full` as `cargo xtask soak` sets it.

/// The first at normal scale, the second at full scale.
pub(crate) fn scaled<T>(normal: T, full: T) -> T {
    match std::env::var("ACTIX_PERSISTENCE_TEST_SCALE").as_deref() {
        Ok("full") => full,
        Ok(other) => panic!("the scale can be 'full' or absent, not '{other}'"),
        Err(_) => normal,
    }
}
