//! The measurements of `cargo xtask bench --peers`: the same work by this library and by others, on the same database.
//!
//! The arguments are series such as `ask-100@postgres=ours,tellus`: a kind of work, a kind of database, and the
//! libraries to be measured in turn. Each measurement is a line of JSON on standard output. The server of PostgreSQL is
//! named by the variable `ACTIX_PERSISTENCE_TEST_POSTGRES_URL`, and the files of SQLite are in the current folder; each
//! library has a database of its own there, while it is measured.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod databases;
mod datum;
mod evento;
mod eventsourced;
mod library;
mod ours;
mod series;
mod tellus;
mod work;

use series::Series;

fn main() {
    for argument in std::env::args().skip(1) {
        work::measure(&Series::of(&argument));
    }
}
