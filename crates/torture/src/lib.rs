#![doc = include_str!("../README.md")]

mod book;
pub mod handlers;
mod ledger;

pub use book::{Book, Client};
pub use ledger::{Enter, Entered, Ledger, Look, Retaining, Trouble};
