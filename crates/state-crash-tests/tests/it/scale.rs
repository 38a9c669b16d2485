//! The size of the tests: a tenth of the full scale, unless `ACTIX_PERSISTENCE_TEST_SCALE=full` as `cargo xtask soak`
//! sets it.

/// The number of moves, and of kills meanwhile.
pub(crate) struct Scale {
    /// The number of times that the process is killed.
    pub(crate) kills: usize,
    /// The least number of moves that are acknowledged in the end.
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
