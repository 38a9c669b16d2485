//! How long the long tests are.

/// Set by `cargo xtask soak`.
const VARIABLE: &str = "ACTIX_PERSISTENCE_TEST_ROUNDS";

/// How often a test that kills or fights does so, each time on an empty database; once unless a variable says more.
pub(crate) fn rounds() -> std::ops::RangeInclusive<u32> {
    let count = match std::env::var(VARIABLE) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => 1,
    };
    1..=count
}

/// Tells whoever waits for a long run.
pub(crate) fn say(round: u32, what: &str) {
    eprintln!("round {round}: {what}");
}
