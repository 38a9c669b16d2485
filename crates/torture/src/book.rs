//! A state that shows by itself whether an entry is missing or there twice.

use std::collections::BTreeMap;

use actix_persistence_history::{Uid, fold};
use serde::{Deserialize, Serialize};

/// Everything that was entered, by the client that has entered it.
///
/// Each client numbers its entries upwards and never uses a number for two of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Book {
    /// How many entries there are: the number of the last event, as every event is one.
    pub entries: u64,
    /// What each client has entered.
    pub clients: BTreeMap<u32, Client>,
    /// Entries that came a second time or in a wrong order.
    pub doubled: Vec<(u32, u64)>,
    /// All entries in their order, as a history tells them.
    pub digest: u64,
}

/// The entries of one client: every number up to the last one but for the holes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// Its highest number.
    pub last: u64,
    /// Numbers below it that never came.
    pub holes: Vec<u64>,
}

impl Book {
    pub(crate) fn enter(&mut self, client: u32, number: u64) {
        self.entries += 1;
        self.digest = fold(self.digest, Uid::of(client, number as u32));
        let of_client = self.clients.entry(client).or_default();
        if number <= of_client.last {
            self.doubled.push((client, number));
            return;
        }
        of_client.holes.extend(of_client.last + 1..number);
        of_client.last = number;
    }

    /// Whether a client has entered this number.
    pub fn has(&self, client: u32, number: u64) -> bool {
        let of_client = self.clients.get(&client);
        of_client.is_some_and(|client| number <= client.last && !client.holes.contains(&number))
    }

    /// Fails if this is not the state at event `at`: with another number of entries, or with one of them twice.
    ///
    /// # Errors
    /// What is wrong, for a person.
    pub fn check(&self, at: u64) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_shows_what_is_missing_and_what_is_there_twice() {
        let mut book = Book::default();
        for number in [1, 2, 4] {
            book.enter(7, number);
        }
        assert_eq!(
            [1, 2, 3, 4, 5].map(|n| book.has(7, n)),
            [true, true, false, true, false]
        );
        assert_eq!(book.check(3), Ok(()));
        assert!(book.check(4).is_err(), "an event was skipped");
        book.enter(7, 2);
        assert!(book.check(4).is_err(), "an entry is there twice");
    }
}
