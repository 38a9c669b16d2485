//! How much is done: a tenth of the full scale, unless `ACTIX_PERSISTENCE_TEST_SCALE=full` as `cargo xtask soak` sets it.

/// How many moves, and how often something is killed meanwhile.
pub(crate) struct Scale {
    /// How often the process is killed.
    pub(crate) kills: usize,
    /// How many moves are acknowledged in the end, at least.
    pub(crate) moves: usize,
}

impl Scale {
    pub(crate) fn of_this_run() -> Self {
        match std::env::var("ACTIX_PERSISTENCE_TEST_SCALE").as_deref() {
            Ok("full") => Self {
                kills: 20,
                moves: 20_000,
            },
            _ => Self {
                kills: 2,
                moves: 2_000,
            },
        }
    }
}
