//! The databases that a bank is proved on, and what can be done to them.

mod server;
mod sqlite;

use std::collections::BTreeMap;

use crate::checker::{Booking, Entry, Histories};

pub(crate) use server::{OwnServer, SharedServer};
pub(crate) use sqlite::Sqlite;

/// A database of its own, empty at first and gone when dropped.
pub(crate) trait Backend {
    /// Its URL.
    fn address(&self) -> String;

    /// What a section of the config says about it: its kind, where it is, and how long it is waited for.
    fn section(&self) -> String;

    /// Every event by account and number, read by plain SQL: a second way to the data that shares nothing with the first.
    ///
    /// None while the tables do not exist yet.
    fn events(&self) -> Vec<StoredEvent>;
}

/// A database that can be made to answer nobody for a while.
pub(crate) trait Stalls: Backend {
    fn stall(&mut self);
    fn go_on(&mut self);
}

/// A database server that can be killed.
pub(crate) trait Dies: Backend {
    fn kill(&mut self);

    /// Starts it again with its data, and waits until it answers.
    fn restart(&mut self);
}

/// An event as it lies in the database.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredEvent {
    pub(crate) account: String,
    pub(crate) sequence_nr: u64,
    /// The incarnation that wrote it, as errors name it.
    pub(crate) writer: String,
    pub(crate) booking: Booking,
}

/// The columns of a row.
type Row = (String, i64, Vec<u8>, Vec<u8>);

/// What `SELECTED` gives, with the tables' default names.
const SELECTED: &str = "SELECT persistence_id, sequence_nr, writer_uuid, payload FROM event_journal \
                        ORDER BY persistence_id, sequence_nr";

impl StoredEvent {
    fn from_row((id, sequence_nr, writer, payload): Row) -> Self {
        Self {
            account: id.strip_prefix("Account|").unwrap().to_owned(),
            sequence_nr: sequence_nr.try_into().unwrap(),
            writer: uuid::Uuid::from_slice(&writer).unwrap().to_string(),
            booking: rmp_serde::from_slice(&payload).unwrap(),
        }
    }
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

/// Runs something of sqlx to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
