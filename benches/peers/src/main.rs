//! The measurements of `cargo xtask bench --peers`: the same work by this library and by others, on PostgreSQL.
//!
//! The arguments are series such as `ask-100@postgres=ours,tellus`: a kind of work, and the libraries to be measured in
//! turn. Each measurement is a line of JSON on standard output. The server is named by the variable
//! `ACTIX_PERSISTENCE_TEST_POSTGRES_URL`; each library has a database of its own there, while it is measured.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod databases;
mod datum;
mod eventsourced;
mod library;
mod ours;
mod series;
mod tellus;
mod work;

use series::Series;

fn main() {
    let server = std::env::var("ACTIX_PERSISTENCE_TEST_POSTGRES_URL").expect("a server");
    for argument in std::env::args().skip(1) {
        let series = Series::of(&argument);
        work::measure(&series, &server);
    }
}
