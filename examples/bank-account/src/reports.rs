//! Prints what is stored: a line for each thing, with tabs between the parts.

use std::io::{self, Write};

use actix_persistence::prelude::*;
use bank::{Account, Decided, Month, all_balances};

/// Prints every event of an account.
pub(crate) async fn history(persistence: &Persistence, account: &str) -> anyhow::Result<()> {
    let mut written: io::Result<()> = Ok(());
    let mut out = io::BufWriter::new(io::stdout());
    persistence
        .replay_events(Account::id_of(account), |meta, event: Decided| {
            let Decided {
                id, kind, cents, ..
            } = event;
            let outcome = if event.applied { "applied" } else { "refused" };
            if written.is_ok() {
                written = writeln!(
                    out,
                    "{}\t{kind}\t{cents}\t{id}\t{outcome}",
                    meta.sequence_nr
                );
            }
        })
        .await?;
    written?;
    Ok(out.flush()?)
}

/// Prints the table of balances as it is.
pub(crate) async fn balances(persistence: &Persistence) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout());
    for balance in all_balances(persistence).await? {
        let (account, cents, bookings) = (balance.account, balance.cents, balance.bookings);
        writeln!(out, "{account}\t{cents}\t{bookings}")?;
    }
    Ok(out.flush()?)
}

/// Prints what was booked in a month.
pub(crate) async fn statement(persistence: &Persistence, month: &Month) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout());
    for (account, turnover) in bank::statement(persistence, month).await? {
        let (deposited, withdrawn) = (turnover.deposited, turnover.withdrawn);
        let bookings = turnover.bookings;
        writeln!(out, "{account}\t{deposited}\t{withdrawn}\t{bookings}")?;
    }
    Ok(out.flush()?)
}
