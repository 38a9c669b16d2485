//! Fills a database as the bank's programs of before did, one version after the other, for the tests of today's.
//!
//! ```text
//! cargo run -p bank-account --example old_bank -- sqlite old_bank.sqlite
//! cargo run -p bank-account --example old_bank -- postgres > old_bank_postgres.sql
//! cargo run -p bank-account --example old_bank -- mysql > old_bank_mysql.sql
//! ```
//!
//! For a server it starts one of its own, and prints the rows, as statements that put them into the tables of another
//! one.
#![allow(clippy::print_stdout)] // printing is what the program is for

mod forms;
mod program;
mod rows;

use std::path::Path;
use std::time::Duration;

use actix_persistence::{Config, prelude::*};
use actix_persistence_test_servers::{Database, Server};
use anyhow::{bail, ensure};

use forms::{AccountBooked, Balance1, Batch, Decided1, Decided2, Decided3, Inquired, Kind};
use program::store;

#[actix::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let (kind, database) = match arguments[..] {
        ["sqlite", file] => {
            ensure!(!Path::new(file).exists(), "{file} is there");
            return fill("sqlite", &format!("sqlite://{file}")).await;
        }
        ["postgres"] => ("postgres", Database::Postgres),
        ["mysql"] => ("mysql", Database::MariaDb),
        _ => bail!("the arguments are sqlite and a file, or postgres, or mysql"),
    };
    let server = Server::start(database, &std::env::temp_dir())?;
    fill(kind, &server.url()).await?;
    rows::print(database, &server.url()).await
}

/// Fills an empty database.
async fn fill(kind: &str, url: &str) -> anyhow::Result<()> {
    let mut config = Config::new();
    for store in ["journal", "snapshot-store"] {
        let key = |last: &str| format!("persistence.{store}.{last}");
        config = config
            .with(&key("plugin"), "bank")
            .with(&key("bank.kind"), kind)
            .with(&key("bank.url"), url);
        if kind != "sqlite" {
            config = config.with(&key("bank.auto-initialize"), true);
        }
    }
    let persistence = Persistence::open(config).await?;
    work(&persistence).await?;
    let stopped = persistence.stop(Duration::from_secs(30)).await;
    ensure!(stopped.is_complete(), "{stopped}");
    Ok(())
}

/// Lets the programs of all versions work on three accounts, one after the other.
async fn work(bank: &Persistence) -> anyhow::Result<()> {
    let account = "DE-2001";
    let first = [("a", 500), ("b", -200)].map(|(id, cents)| AccountBooked {
        id: id.into(),
        cents,
    });
    store(bank, account, first, None::<Balance1>).await?;
    let second = [("c", 1_000)].map(|(id, cents)| Decided1 {
        id: id.into(),
        cents,
    });
    store(bank, account, second, None::<Balance1>).await?;
    let third = [("d", Kind::Deposit, 250), ("e", Kind::Withdraw, 50)];
    let third = third.map(|(id, kind, cents)| Decided2 {
        id: id.into(),
        kind,
        cents,
    });
    store(bank, account, third, None::<Balance1>).await?;
    let cents = vec![100, 200, -300];
    let batch = Batch {
        id: "f".into(),
        cents,
    };
    store(bank, account, [batch], None::<Balance1>).await?;
    store(bank, account, [Inquired {}], None::<Balance1>).await?;
    let last = [
        ("g", Kind::Withdraw, 10_000, false),
        ("h", Kind::Deposit, 1, true),
    ];
    let last = last.map(|(id, kind, cents, applied)| Decided3 {
        id: id.into(),
        kind,
        cents,
        applied,
    });
    store(bank, account, last, None::<Balance1>).await?;

    // A snapshot of the first program stands for its events, which are deleted.
    let account = "DE-2002";
    let first = [("a", 700), ("b", 300)].map(|(id, cents)| Decided1 {
        id: id.into(),
        cents,
    });
    let balance = Balance1 {
        euros: 10,
        cents: 0,
        decided: vec!["a".into(), "b".into()],
    };
    store(bank, account, first, Some(balance)).await?;
    let second = [("c", Kind::Withdraw, 400)];
    let second = second.map(|(id, kind, cents)| Decided2 {
        id: id.into(),
        kind,
        cents,
    });
    store(bank, account, second, None::<Balance1>).await?;

    // An account of which nothing means anything today.
    store(bank, "DE-2003", [Inquired {}], None::<Balance1>).await
}
