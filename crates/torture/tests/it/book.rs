//! A state that shows by itself whether an entry is missing or there twice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything that was entered, by the client that has entered it.
///
/// Each client numbers its entries upwards and never uses a number for two of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Book {
    /// The number of entries, which is the number of the last event, as every event is one.
    pub(crate) entries: u64,
    /// The entries of each client.
    pub(crate) clients: BTreeMap<u32, Client>,
    /// Entries that came a second time or in a wrong order.
    pub(crate) doubled: Vec<(u32, u64)>,
}

/// The entries of one client: every number up to the last one but for the holes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Client {
    /// Its highest number.
    pub(crate) last: u64,
    /// Numbers below it that never came.
    pub(crate) holes: Vec<u64>,
}

impl Book {
    pub(crate) fn enter(&mut self, client: u32, number: u64) {
        self.entries += 1;
        let of_client = self.clients.entry(client).or_default();
        if number <= of_client.last {
            self.doubled.push((client, number));
            return;
        }
        of_client.holes.extend(of_client.last + 1..number);
        of_client.last = number;
    }

    /// Fails if this is not the state at event `at`: with another number of entries, or with one of them twice.
    pub(crate) fn check(&self, at: u64) -> Result<(), String> {
        let there: u64 = self
            .clients
            .values()
            .map(|client| client.last - client.holes.len() as u64)
            .sum();
        if !self.doubled.is_empty() || self.entries != at || there != at {
            let (entries, doubled) = (self.entries, &self.doubled);
            return Err(format!(
                "{there} entries and {entries} events at event {at}, doubled {doubled:?}"
            ));
        }
        Ok(())
    }
}

#[test]
fn a_book_shows_what_is_missing_and_what_is_there_twice() {
    let mut book = Book::default();
    for number in [1, 2, 4] {
        book.enter(7, number);
    }
    assert_eq!(book.check(3), Ok(()));
    assert!(book.check(4).is_err(), "an event was skipped");
    book.enter(7, 2);
    assert!(book.check(4).is_err(), "an entry is there twice");
}
