//! The events and snapshots of the bank's programs of before, as they stood in their code.

use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

/// The direction in which money moves.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Kind {
    Deposit,
    Withdraw,
}

/// A booking under its first name; a withdrawal is negative.
#[derive(Serialize, Deserialize)]
pub(crate) struct AccountBooked {
    pub(crate) id: String,
    pub(crate) cents: i64,
}

/// The same under the next name.
#[derive(Serialize, Deserialize)]
pub(crate) struct Decided1 {
    pub(crate) id: String,
    pub(crate) cents: i64,
}

/// The next version, with a direction.
#[derive(Serialize, Deserialize)]
pub(crate) struct Decided2 {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) cents: u64,
}

/// The version of today, with what was refused.
#[derive(Serialize, Deserialize)]
pub(crate) struct Decided3 {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) cents: u64,
    pub(crate) applied: bool,
}

/// Several bookings in one event.
#[derive(Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) id: String,
    pub(crate) cents: Vec<i64>,
}

/// Somebody asked for the balance, which was an event once.
#[derive(Serialize, Deserialize)]
pub(crate) struct Inquired {}

/// The first snapshot, with euros apart.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Balance1 {
    pub(crate) euros: u64,
    pub(crate) cents: u64,
    pub(crate) decided: Vec<String>,
}

/// Names and versions; no program of here reads what another one has stored.
macro_rules! stored {
    ($($form:ident: $trait:ident $manifest:literal $version:literal, $upcasters:ident;)*) => {
        $(
            impl $trait for $form {
                const MANIFEST: &'static str = $manifest;
                const VERSION: u32 = $version;

                fn upcasters() -> $upcasters<Self> {
                    $upcasters::new().since($version)
                }
            }
        )*
    };
}

stored! {
    AccountBooked: Event "account.booked" 1, Upcasters;
    Decided1: Event "bank.decided" 1, Upcasters;
    Decided2: Event "bank.decided" 2, Upcasters;
    Decided3: Event "bank.decided" 3, Upcasters;
    Batch: Event "bank.batch" 1, Upcasters;
    Inquired: Event "bank.inquired" 1, Upcasters;
    Balance1: Snapshot "bank.balance" 1, StateUpcasters;
}
