//! One share, for as long as this process has it.

mod reader;
mod runner;

pub(crate) use runner::{End, ShareRunner};
