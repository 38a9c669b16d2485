//! The actor that several processes have at once, and what it knows about its own past.

mod book;
mod ledger;

pub use book::{Book, Client};
pub use ledger::{Enter, Entered, Ledger, Look, Retaining, Trouble};
