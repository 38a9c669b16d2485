//! The databases that a bank is proved on, and what can be done to them.

mod server;
mod sqlite;

use std::collections::BTreeMap;

use sqlx::error::DatabaseError;

use crate::checker::{Booking, Entry, Histories};

pub(crate) use server::{OwnServer, SharedServer};
pub(crate) use sqlite::Sqlite;

/// A database of its own, empty at first and gone when dropped.
pub(crate) trait Backend {
    /// Returns the URL of the database.
    fn address(&self) -> String;

    /// Returns its section of the config: its kind, where it is, and the time for which it is waited for.
    fn section(&self) -> String;

    /// Every event by account and number, read by plain SQL: a second way to the data that shares nothing with the first.
    ///
    /// None while the tables do not exist yet.
    fn events(&self) -> Vec<StoredEvent>;

    /// Every row of the table of balances by account, read by plain SQL: the cents, and the number of bookings.
    ///
    /// None while the table does not exist yet.
    fn balances(&self) -> BTreeMap<String, (i64, i64)>;
}

/// A database that can be made to answer no one for a while.
pub(crate) trait Stalls: Backend {
    fn stall(&mut self);
    fn go_on(&mut self);
}

/// An event as it lies in the database.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredEvent {
    pub(crate) account: String,
    pub(crate) sequence_nr: u64,
    pub(crate) booking: Booking,
}

/// The columns of a row.
type Row = (String, i64, Vec<u8>);

/// The columns of a row of the table of balances.
type BalanceRow = (String, i64, i64);

/// Selects all balances.
const BALANCES: &str = "SELECT account, cents, bookings FROM bank_balance";

/// Selects all events, with the tables' default names.
const SELECTED: &str = "SELECT persistence_id, sequence_nr, payload FROM event_journal \
                        ORDER BY persistence_id, sequence_nr";

impl StoredEvent {
    fn from_row((id, sequence_nr, payload): Row) -> Self {
        Self {
            account: id.strip_prefix("Account|").unwrap().to_owned(),
            sequence_nr: sequence_nr.try_into().unwrap(),
            booking: rmp_serde::from_slice(&payload).unwrap(),
        }
    }
}

/// The balances by account, or none if the statement failed because there is no table.
fn by_account(
    rows: Result<Vec<BalanceRow>, sqlx::Error>,
    is_no_table: impl Fn(&dyn DatabaseError) -> bool,
) -> BTreeMap<String, (i64, i64)> {
    let rows = match rows {
        Err(sqlx::Error::Database(error)) if is_no_table(&*error) => Vec::new(),
        rows => rows.unwrap(),
    };
    let of_account = |(account, cents, bookings)| (account, (cents, bookings));
    rows.into_iter().map(of_account).collect()
}

/// The decisions by account.
pub(crate) fn histories(events: Vec<StoredEvent>) -> Histories {
    let mut histories = BTreeMap::<_, Vec<_>>::new();
    for event in events {
        histories.entry(event.account).or_default().push(Entry {
            sequence_nr: event.sequence_nr,
            booking: event.booking,
        });
    }
    histories
}

/// Runs a future of sqlx to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
