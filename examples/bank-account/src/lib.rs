#![doc = include_str!("../README.md")]

mod account;

pub use account::{Account, Balance, Book, BookError, Booked, Decided, Kind};
