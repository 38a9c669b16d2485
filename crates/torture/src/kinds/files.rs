//! The parts that kinds on files of SQLite share: the program under test, its marks, and a judge that reads by plain
//! SQL.

pub(crate) mod expected;
pub(crate) mod found;
pub(crate) mod keeper;
pub(crate) mod listen;
pub(crate) mod mark;
pub(crate) mod program;
pub(crate) mod shim;
pub(crate) mod stores;
