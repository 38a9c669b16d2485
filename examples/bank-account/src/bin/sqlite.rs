//! A program that makes one booking on an account that lies in an SQLite file.
//!
//! ```text
//! cargo run -p bank-account --bin sqlite -- bank.db tx-1
//! ```
//!
//! The same id again is a duplicate and changes nothing.
#![allow(clippy::print_stdout)] // printing is what the program is for

use actix_persistence::prelude::*;
use anyhow::Context;
use bank::{Account, Book, Kind};

#[actix::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().context("the file of the database")?;
    let id = arguments.next().context("the id of the booking")?;

    let persistence = Persistence::sqlite(file).await?;
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
