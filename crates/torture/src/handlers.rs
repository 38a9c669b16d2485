//! Code of the application that misbehaves in the transactions of the stores, and writers that let it.
//!
//! A [`Shelf`] stores a [`Slip`] with each change. Its change handler puts a row into the table `handled`, so that what
//! is stored can be compared with the handler's rows one by one, and does the [`Mischief`] that the slip orders.

mod act;
mod hand;
mod mischief;
mod program;
mod record;
mod shelf;
mod writers;

pub use act::FROM_INSIDE;
pub use mischief::{Expectation, Kind, Mischief, Plan};
pub use program::{HANDLER_TIMEOUT, Program, SECTIONS};
pub use record::{Outcome, Record, What};
pub use shelf::{DELETED, PLAIN, SHELF, Slip, TOLD_SHELF};
pub use writers::{Limits, PARTS, Round, Writers};
