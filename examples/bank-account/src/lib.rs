#![doc = include_str!("../README.md")]

mod account;
mod balances;
pub mod lines;
mod month;
mod statement;

pub use account::{Account, Balance, Book, BookError, Booked, Decided, Kind};
pub use balances::{AccountBalance, Balances, all_balances, keep_balances, tables};
pub use month::{InvalidMonth, Month};
pub use statement::{Turnover, statement};
