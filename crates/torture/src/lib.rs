#![doc = include_str!("../README.md")]

mod book;
mod ledger;

pub use book::{Book, Client};
pub use ledger::{Enter, Entered, Ledger, Look, Retaining, Trouble};
