//! One share, for as long as this process has it.

mod handing_over;
mod parking;
mod reader;
mod runner;
mod storing;

pub(crate) use runner::{End, ShareRunner};
