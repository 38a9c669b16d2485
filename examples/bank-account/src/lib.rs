#![doc = include_str!("../README.md")]

mod account;
pub mod lines;

pub use account::{Account, Balance, Book, BookError, Booked, Decided, Kind};
