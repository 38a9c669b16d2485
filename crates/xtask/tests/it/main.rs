//! The commands as a person runs them, on small workspaces made for each test.

#![allow(clippy::unwrap_used)]

mod fixture;
mod interrupt;
mod test_command;
mod verify_and_fix;
