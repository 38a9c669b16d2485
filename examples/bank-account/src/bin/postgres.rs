//! A program that makes one booking on an account that lies in a PostgreSQL database.
//!
//! ```text
//! cargo run -p bank-account --bin postgres -- postgres://bank:secret@localhost/bank tx-1
//! ```
//!
//! The same id again is a duplicate and changes nothing.
#![allow(clippy::print_stdout)] // printing is what the program is for

use actix_persistence::{Config, prelude::*};
use anyhow::Context;
use bank::{Account, Book, Kind};

#[actix::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().context("the URL of the database")?;
    let id = arguments.next().context("the id of the booking")?;

    let config = Config::new()
        .with("persistence.journal.plugin", "postgres")
        .with("persistence.journal.postgres.url", url.as_str())
        .with("persistence.journal.postgres.auto-initialize", true)
        .with("persistence.snapshot-store.plugin", "postgres")
        .with("persistence.snapshot-store.postgres.url", url.as_str())
        .with("persistence.snapshot-store.postgres.auto-initialize", true);
    let persistence = Persistence::open(config).await?;
    let account = persistence.start(|| Account::new("DE-1001"))?;
    let book = Book {
        id,
        kind: Kind::Deposit,
        cents: 1_000,
    };
    let booked = account.send(book).await??;
    let account = persistence.replay(Account::new("DE-1001")).await?.actor;
    println!("{}, {} cents", booked.name(), account.cents());
    Ok(())
}
