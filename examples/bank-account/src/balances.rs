//! The balances of all accounts in a table: a read model, kept by a projection of the events.

use std::collections::BTreeMap;
use std::time::Duration;

use actix_persistence::Persistence;
use actix_persistence::projection::{ExtensionError, GroupHandler, Projection, Session};
use actix_persistence::query::{EventEnvelope, EventSelection};
use actix_persistence::sql::{SchemaStep, SchemaSteps, SessionWork};
use async_trait::async_trait;

use crate::{Account, Decided, Kind};

/// The number of shares of the work: so many processes can take part.
const SHARES: u16 = 4;

/// Returns the steps that make the table of balances, which compares accounts byte by byte.
pub fn tables() -> SchemaSteps {
    let steps = [SchemaStep::new(
        "CREATE TABLE bank_balance (account VARCHAR(255) PRIMARY KEY, cents BIGINT NOT NULL, bookings BIGINT NOT NULL)",
    )
    .on(
        "mysql",
        "CREATE TABLE bank_balance (account VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, \
         cents BIGINT NOT NULL, bookings BIGINT NOT NULL)",
    )];
    SchemaSteps::new("bank", steps).with_tables(["bank_balance"])
}

/// Adds what was booked to the table, in the transaction that stores how far it has read.
pub struct Balances;

/// The sum of several bookings on an account.
#[derive(Default)]
struct Sum {
    cents: i64,
    bookings: i64,
}

#[async_trait]
impl GroupHandler<EventEnvelope<Decided>> for Balances {
    async fn handle_group(
        &self,
        session: &mut dyn Session,
        items: &[EventEnvelope<Decided>],
    ) -> Result<(), ExtensionError> {
        for (account, Sum { cents, bookings }) in sums(items)? {
            let values = || [cents.into(), bookings.into(), account.into()];
            let update = "UPDATE bank_balance SET cents = cents + $1, bookings = bookings + $2 WHERE account = $3";
            if session.execute(update, values()).await? == 0 {
                let insert =
                    "INSERT INTO bank_balance (cents, bookings, account) VALUES ($1, $2, $3)";
                session.execute(insert, values()).await?;
            }
        }
        Ok(())
    }
}

/// Adds up what was booked on each account, so that it needs one statement.
fn sums(items: &[EventEnvelope<Decided>]) -> Result<BTreeMap<&str, Sum>, ExtensionError> {
    let mut sums = BTreeMap::<_, Sum>::new();
    for item in items {
        for decided in item.events.iter().filter(|decided| decided.applied) {
            let sum = sums.entry(item.persistence_id.entity_id()).or_default();
            let cents = i64::try_from(decided.cents)?;
            let after = match decided.kind {
                Kind::Deposit => sum.cents.checked_add(cents),
                Kind::Withdraw => sum.cents.checked_sub(cents),
            };
            sum.cents = after.ok_or("the table has no room for such a balance")?;
            sum.bookings += 1;
        }
    }
    Ok(sums)
}

/// Keeps the table up to date until the handle is stopped; all processes that do so share the work. One that is not heard
/// of for the time of its lease loses its shares to the others.
///
/// # Errors
/// If the config has no offset store in a database.
pub fn keep_balances(
    persistence: &Persistence,
    lease: Option<Duration>,
) -> anyhow::Result<Projection> {
    let accounts = EventSelection::all().of_entity_type(Account::ENTITY_TYPE);
    let projection = persistence
        .projection("balances")
        .of_events::<Decided>(None, accounts)?
        .with(|settings| {
            settings.shares = SHARES;
            settings.lease = lease.unwrap_or(settings.lease);
        })
        .grouped(Balances)?;
    Ok(projection)
}

/// An account, as the table has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountBalance {
    /// The name of the account.
    pub account: String,
    /// The balance, in cents.
    pub cents: i64,
    /// The number of bookings that it is made of.
    pub bookings: i64,
}

/// Reads the table, in the order of the bytes of the accounts.
///
/// # Errors
/// If the store returns an error.
///
/// # Cancel safety
/// Has no effect that could be lost.
pub async fn all_balances(persistence: &Persistence) -> anyhow::Result<Vec<AccountBalance>> {
    let reading = SessionWork::new(|session| {
        Box::pin(async move {
            let rows = session.select("SELECT account, cents, bookings FROM bank_balance", []);
            let balances = rows.await?.into_iter().map(|row| {
                Ok(AccountBalance {
                    account: row.get("account")?,
                    cents: row.get("cents")?,
                    bookings: row.get("bookings")?,
                })
            });
            balances.collect::<Result<Vec<_>, ExtensionError>>()
        })
    });
    let mut balances = persistence.transact(None, reading).await?;
    // Each database has its own order of texts.
    balances.sort_unstable();
    Ok(balances)
}
