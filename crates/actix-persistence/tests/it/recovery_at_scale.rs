//! Recovery at scale: a very long log, very many actors at once and idle, and a query of very many events, each in a process of its own for the peak of its
//! memory.
//!
//! A tenth of the full scale, unless `ACTIX_PERSISTENCE_TEST_SCALE=full` as `cargo xtask soak` sets it.

#![allow(
    clippy::print_stdout,
    reason = "the numbers are worth reading, and processes report by printing"
)]

mod all_events;
mod idle_actors;
mod ledger;
mod long_log;
mod many_actors;
mod measured_process;
mod stored_ledgers;
mod watched_journal;

/// The size of the scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Tenth,
    Full,
}

impl Scale {
    fn from_environment() -> Self {
        match std::env::var("ACTIX_PERSISTENCE_TEST_SCALE").as_deref() {
            Ok("full") => Scale::Full,
            Ok(other) => panic!("the scale can be 'full' or absent, not '{other}'"),
            Err(_) => Scale::Tenth,
        }
    }
}
