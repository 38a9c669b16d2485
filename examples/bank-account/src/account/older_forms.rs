//! The forms in which the bank's programs of before stored decisions and balances.
//!
//! Each is read as it was written, and becomes the next one. No program writes them any more; they stay as long as one
//! of them is stored.

use std::collections::HashSet;

use serde::Deserialize;

use super::{Balance, Decided, Kind};

/// Version 1: what was not possible was not stored, and a withdrawal was negative.
#[derive(Deserialize)]
pub(super) struct Decided1 {
    id: String,
    cents: i64,
}

/// Version 2: the direction is there by its name.
#[derive(Deserialize)]
pub(super) struct Decided2 {
    id: String,
    kind: Kind,
    cents: u64,
}

impl From<Decided1> for Decided2 {
    fn from(Decided1 { id, cents }: Decided1) -> Self {
        let kind = if cents < 0 {
            Kind::Withdraw
        } else {
            Kind::Deposit
        };
        let cents = cents.unsigned_abs();
        Self { id, kind, cents }
    }
}

impl From<Decided2> for Decided {
    fn from(Decided2 { id, kind, cents }: Decided2) -> Self {
        Self {
            id,
            kind,
            cents,
            applied: true,
        }
    }
}

/// Several bookings in one event, of the time of version 1.
#[derive(Deserialize)]
pub(super) struct Batch {
    id: String,
    cents: Vec<i64>,
}

impl Batch {
    /// Returns a decision for each booking, numbered from 1.
    pub(super) fn decisions(self) -> impl Iterator<Item = Decided> {
        let Self { id, cents } = self;
        (1..).zip(cents).map(move |(number, cents)| {
            let id = format!("{id}/{number}");
            Decided2::from(Decided1 { id, cents }).into()
        })
    }
}

/// Version 1 of a balance, with euros apart.
#[derive(Deserialize)]
pub(super) struct Balance1 {
    euros: u64,
    cents: u64,
    decided: HashSet<String>,
}

impl From<Balance1> for Balance {
    fn from(balance: Balance1) -> Self {
        Self {
            cents: balance.euros * 100 + balance.cents,
            decided: balance.decided,
        }
    }
}
